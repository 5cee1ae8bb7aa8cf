"""What the controllers need of the machine, as protocols, and the local machine behind them."""
