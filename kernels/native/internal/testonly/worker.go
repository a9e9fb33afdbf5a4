package testonly

// Worker is the binary that supervisors and workers are started of; "" means this one. It is set before any is started.
var Worker string
