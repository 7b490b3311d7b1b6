package scenario

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// A control contains secrets that the search must find, one for each kind of place. If it
// misses one, the search itself is broken.
type control map[string]bool // by name; true after it was found

// Places of the control secrets.
const (
	inFile     = "control in a file"
	inJournal  = "control in the journal"
	inArgument = "control in an argument"
	inVariable = "control in a variable"
	inArchive  = "control in a support bundle"
)

const (
	controlFile    = "/var/tmp/lab-control"
	controlArchive = "/var/tmp/airgap-support-control.tar.gz"
)

// plantControl puts one secret into each place on the first server, as a careless program
// would. On an emulated machine, the search does not see arguments and environments.
func (g *guard) plantControl(ctx context.Context) error {
	m := g.lab.Machines[0]
	plants := map[string]func(value string) error{
		inFile: func(v string) error { return lab.PutFile(ctx, m, controlFile, 0o644, strings.NewReader(v)) },
		inJournal: func(v string) error {
			return m.Exec(ctx, lab.Cmd{Args: []string{"logger"}, Stdin: strings.NewReader("the control is " + v + "\n")})
		},
		inArchive: func(v string) error {
			packed, err := archiveOf("control/logs/a.log", v)
			return errors.Join(err, lab.PutFile(ctx, m, controlArchive, 0o644, bytes.NewReader(packed)))
		},
	}
	if _, ok := m.(container); ok {
		plants[inArgument] = func(v string) error { return m.Exec(ctx, lab.Cmd{Args: []string{"true", "--password=" + v}}) }
		plants[inVariable] = func(v string) error {
			return m.Exec(ctx, lab.Cmd{Args: []string{"true"}, Env: []string{"PASSWORD=" + v}})
		}
	}
	g.control = control{}
	for name, plant := range plants {
		g.control[name] = false
		value := rand.Text()
		if err := errors.Join(g.Book.Add(secrets.Control, name, value), plant(value)); err != nil {
			return fmt.Errorf("plant the %s: %w", name, err)
		}
	}
	return nil
}

// archiveOf returns a tar.gz archive with one file.
func archiveOf(name, text string) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	err = errors.Join(err, w.Close(), z.Close())
	return packed.Bytes(), err
}

// found marks a control secret as found, and reports whether where is its place. The
// variable is also allowed in an argument, because the lab passes it to env.
func (c control) found(where string, s secrets.Secret) bool {
	place := map[string][]string{
		inFile: {controlFile}, inJournal: {"journal", "/log/journal/"}, inArgument: {"argument"}, inVariable: {"environment", "argument"},
		inArchive: {controlArchive + "!", controlArchive},
	}[s.Name]
	i := slices.IndexFunc(place, func(p string) bool { return strings.Contains(where, p) })
	if i == 0 {
		c[s.Name] = true
	}
	return i >= 0
}

// missing returns an error with the control secrets that were not found.
func (c control) missing() error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if !c[name] {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("the search for secrets is broken: it did not find the %s", strings.Join(names, ", the "))
	}
	return nil
}
