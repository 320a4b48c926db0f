"""Synchronization of a home with S3-compatible storage: finished results are uploaded and downloaded."""
