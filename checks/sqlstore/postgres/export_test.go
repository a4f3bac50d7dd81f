package postgres

// ParseURL exports parseURL.
var ParseURL = parseURL
