"""A cluster of processes on this machine: killed at random moments, and two workers beside one."""
