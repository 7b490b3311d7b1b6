// Package konfig is empty: cli-runtime's own tests import it, and `go mod tidy` requires it.
package konfig
