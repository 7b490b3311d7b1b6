package sitetest

import (
	"context"
	"encoding/pem"
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/internal/host"
)

// FilesHost is a host of which files are read, and nothing is run.
type FilesHost fstest.MapFS

// FS has the files.
func (h FilesHost) FS() fs.FS { return fstest.MapFS(h) }

// Run fails.
func (FilesHost) Run(context.Context, host.Cmd) ([]byte, error) {
	return nil, errors.New("nothing is run")
}

// PEM encodes what a function of crypto/x509 returned.
func PEM(t *testing.T, kind string, der []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
