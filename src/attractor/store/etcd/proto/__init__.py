"""Messages of the etcd API, generated; see README.md here."""
