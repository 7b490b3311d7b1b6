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

// FilesHost is a fake host with files and without commands.
type FilesHost fstest.MapFS

// FS returns the files.
func (h FilesHost) FS() fs.FS { return fstest.MapFS(h) }

// Run returns an error.
func (FilesHost) Run(context.Context, host.Cmd) ([]byte, error) {
	return nil, errors.New("this fake host runs no commands")
}

// PEM encodes the result of a function of crypto/x509. It fails the test if err is not nil.
func PEM(t *testing.T, kind string, der []byte, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
