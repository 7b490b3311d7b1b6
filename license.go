// Package airgap is the program's licence, for what is handed on of it.
package airgap

import _ "embed"

// License is the text that the program is under: Apache-2.0.
//
//go:embed LICENSE
var License []byte
