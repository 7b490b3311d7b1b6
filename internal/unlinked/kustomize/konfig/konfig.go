// Package konfig is empty: cli-runtime's own tests import it, and `go mod tidy` wants it to be there.
package konfig
