package twilio

// Text is textOf for tests.
var Text = textOf
