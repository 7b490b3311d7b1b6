package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"airgap.dev/airgap/cmd/airgap/redact"
)

// secretPlaces are where this host has secrets, by the table in docs/security.md,
// "Secrets": files and directories.
func secretPlaces() []string {
	return []string{
		"etc/airgap", "etc/kubernetes", "var/lib/airgap/renewal.json", "var/lib/airgap/backup", "var/lib/airgap/upgrade", "var/lib/airgap/kept",
		"var/lib/kubelet/pki", "etc/ssh", "root/.ssh", "root/.docker",
	}
}

// podSecrets are what the kubelet gives to pods.
func podSecrets() []string {
	return []string{"var/lib/kubelet/pods/*/volumes/kubernetes.io~projected/*/token", "var/lib/kubelet/pods/*/volumes/kubernetes.io~secret/*/*"}
}

// largestSecret, in bytes, is of a file that keys are kept in; etcd's snapshots are
// larger.
const largestSecret = 256 << 10

// secrets are all that this host has, and how many files could not be read.
func (e *evidence) secrets() (book *redact.Book, unread int) {
	book = &redact.Book{}
	take := func(name string, ofPod bool) {
		text, err := e.secretFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			unread++
		default:
			book.AddFile(text)
			if value := bytes.TrimSpace(text); ofPod && len(value) < 512 && len(bytes.Fields(value)) == 1 {
				book.Add(value)
			}
		}
	}
	for _, place := range secretPlaces() {
		_ = fs.WalkDir(e.fs(), place, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrPermission):
				unread++
			case err == nil && d.Type().IsRegular() && !public(name):
				take(name, false)
			case err == nil && d.Type()&fs.ModeSymlink != 0 && strings.HasPrefix(name, "var/lib/kubelet/"):
				take(name, false) // to the kubelet's newest
			}
			return nil
		})
	}
	for _, pattern := range podSecrets() {
		for _, name := range e.found(pattern) {
			take(name, true)
		}
	}
	return book, unread
}

// public are files among secrets that have none, and whose bytes are looked for nowhere.
func public(name string) bool {
	switch path.Ext(name) {
	case ".crt", ".pub", ".db":
		return true
	}
	return strings.Contains(name, "/manifests/")
}

func (e *evidence) secretFile(name string) ([]byte, error) {
	f, err := e.fs().Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > largestSecret {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, largestSecret))
}
