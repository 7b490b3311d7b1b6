// Package airgap is the program's licence, and those of what it is made of, for
// what is handed on of it.
package airgap

import (
	"compress/gzip"
	"embed"
	"io"
)

// License is the text that the program is under: Apache-2.0.
//
//go:embed LICENSE
var License []byte

//go:embed licenses
var licenses embed.FS

// ThirdParty are the licences of the modules that the program is made of, as
// cmd/licenses gathers them for make build. A program that was built
// otherwise says that it has none.
func ThirdParty() []byte {
	text, err := unpacked("licenses/third-party.txt.gz")
	if err != nil {
		return []byte("This program was built without make build, which gathers the licences of the modules that it is made of:\nit is not to be handed on.\n")
	}
	return text
}

func unpacked(name string) ([]byte, error) {
	packed, err := licenses.Open(name)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
