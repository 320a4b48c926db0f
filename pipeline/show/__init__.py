"""What a person looks at: terminal tables, figures, the report and the page of results."""
