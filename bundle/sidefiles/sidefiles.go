// Package sidefiles checks the files next to the parts of a bundle, before a command changes anything. Gates and virus
// scanners change these files: they convert line ends, and remove programs.
package sidefiles

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// Altered lists the documentation of a bundle that is missing or does not have the signed bytes. No command needs it.
type Altered []Finding

// Finding is one file.
type Finding struct {
	Name  string `json:"name"`
	Cause string `json:"cause"`
}

// Check reads every file next to the parts. It returns altered documentation, and an error that names every other file
// that is missing or altered. A later use of a file verifies it again.
func Check(b *bundle.Bundle) (Altered, error) {
	var altered Altered
	var problems []error
	var names []string
	for _, name := range sideFiles(b) {
		err := read(b, name)
		switch {
		case err == nil:
		case bundle.IsDocumentation(name):
			altered = append(altered, Finding{name, causeOf(err)})
		default:
			problems, names = append(problems, err), append(names, name)
		}
	}
	if len(problems) == 0 {
		return altered, nil
	}
	err := fmt.Errorf("check the files next to the parts of bundle %s: %w", b.Dir(), errors.Join(problems...))
	return altered, advice.Add(err, "copy %s again from the bundle on the connected host; if a virus scanner or a gate on the way removes or changes the same file again, "+
		"ask its owner for an exception, or run airgap pack on the connected host and airgap unpack here", ui.And(names))
}

// CheckServed is Check for all bundles of another host's registry.
func CheckServed(v *bundle.View) error {
	for _, b := range v.Bundles() {
		if _, err := Check(b); err != nil {
			return advice.Replace(err, "on that host, repair the copy of the bundle: airgap registry import DIR; then run the same command again")
		}
	}
	return nil
}

// sideFiles are the signed files next to the parts.
func sideFiles(b *bundle.Bundle) []string {
	return slices.DeleteFunc(b.Names(), func(name string) bool {
		return slices.ContainsFunc(b.Index().Parts, func(p bundle.Part) bool { return p.Name == name })
	})
}

func read(b *bundle.Bundle, name string) error {
	own, err := b.Own(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &bundle.DamageError{Part: name, Chunk: -1, Cause: "missing: it was not copied, or a virus scanner or a gate removed it"}
	}
	if damage, is := errors.AsType[*bundle.DamageError](err); is {
		return damage
	}
	if err != nil {
		return err
	}
	return own.Close()
}

func causeOf(err error) string {
	if damage, is := errors.AsType[*bundle.DamageError](err); is {
		return damage.Cause
	}
	return err.Error()
}

// Names are the names of the files.
func (a Altered) Names() []string {
	var all []string
	for _, f := range a {
		all = append(all, f.Name)
	}
	return all
}

// Warn reports the files with say, in one line.
func (a Altered) Warn(say func(format string, args ...any)) {
	if len(a) == 0 {
		return
	}
	var all []string
	for _, f := range a {
		all = append(all, f.Name+" ("+f.Cause+")")
	}
	say("warning: documentation of the bundle is missing or altered: %s; a gate or an editor on the way changed it. The command continues, "+
		"because no step uses these files; do not follow their text, use airgap docs", strings.Join(all, ", "))
}
