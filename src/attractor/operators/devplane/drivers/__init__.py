"""The machine: protocols that the controllers use, and the local machine behind them."""
