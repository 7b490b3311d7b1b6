// Package airgap has the licence of the program and the licences of its modules, which every
// distributed copy contains.
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
		return []byte("This program was built without make build, which collects the licences of its modules:\ndo not distribute it.\n")
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
