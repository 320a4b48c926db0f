"""The home on S3-compatible storage: what is finished is published there, what is asked for is brought."""
