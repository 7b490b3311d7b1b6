// Package damage lists content that a registry cannot serve, each chunk once, until it can be read again.
package damage

import (
	"errors"
	"fmt"

	"airgap.dev/airgap/bundle"
)

// Fault is content that the registry cannot serve: a chunk of a bundle or a pushed blob that does not match its
// hash, or that the disk does not return. The client that requested it got an error, never the bytes.
type Fault struct {
	Bundle string `json:"bundle"`
	Part   string `json:"part"`
	Chunk  int    `json:"chunk"`           // number within the part, from 0; -1: the whole file
	Path   string `json:"path"`            // the file within the bundle that a client read: a blob, an RPM
	Blob   string `json:"blob,omitempty"`  // digest of a pushed blob; then Path has its repositories
	File   string `json:"file,omitempty"`  // of pushed images, which the disk failed to read or write; then Part is reads or writes
	Cause  string `json:"cause,omitempty"` // error of the disk; "": the bytes are wrong
}

func (d Fault) String() string {
	switch {
	case d.File != "":
		return fmt.Sprintf("%s of pushed images fail: %s: %s", d.Part, d.File, d.Cause)
	case d.Blob != "" && d.Cause != "":
		return fmt.Sprintf("pushed blob %s of %s cannot be read: %s", d.Blob, d.Path, d.Cause)
	case d.Blob != "":
		return fmt.Sprintf("pushed blob %s of %s does not match its digest", d.Blob, d.Path)
	case d.Cause != "" && d.Chunk < 0:
		return fmt.Sprintf("%s of bundle %s cannot be read: %s", d.Part, d.Bundle, d.Cause)
	case d.Cause != "":
		return fmt.Sprintf("%s of bundle %s: chunk %d of %s cannot be read: %s", d.Path, d.Bundle, d.Chunk, d.Part, d.Cause)
	case d.Chunk < 0:
		return fmt.Sprintf("%s of bundle %s does not match its signed hash", d.Part, d.Bundle)
	}
	return fmt.Sprintf("%s of bundle %s: chunk %d of %s is damaged", d.Path, d.Bundle, d.Chunk, d.Part)
}

// Fix returns how to repair it. It does not contain names, because they come from the registry, and the operator
// copies this line.
func (d Fault) Fix() string {
	fix := "airgap registry import DIR from the stick, or --from ADDRESS:PORT of another registry"
	switch {
	case d.File != "":
		fix = "check that the disk with the pushed images is mounted, writable and free of errors (findmnt, journalctl -k), and repair it"
	case d.Blob != "":
		fix = "push the images again, or delete them"
	case d.Cause != "":
		fix = "check the disk or the stick, and mount the stick again (first umount -l, since the registry has open files); then " + fix
	}
	return fix
}

// Of returns the chunk that err of a bundle names. path is the file that was read.
func Of(err error, path string) (Fault, bool) {
	if d := (*bundle.DamageError)(nil); errors.As(err, &d) {
		return Fault{Bundle: d.Bundle, Part: d.Part, Chunk: d.Chunk, Path: path}, true
	}
	if d := (*bundle.ReadError)(nil); errors.As(err, &d) {
		return Fault{Bundle: d.Bundle, Part: d.Part, Chunk: d.Chunk, Path: path, Cause: d.Err.Error()}, true
	}
	return Fault{}, false
}
