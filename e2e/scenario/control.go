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

// A control is what has to be found, or the search is blind: one secret of its
// own for each kind of place.
type control map[string]bool // by name; true once it was found

// Places in which a control is planted.
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

// plantControl plants one of each on the first server, as a careless program
// would. What programs of an emulated machine are started with nobody sees.
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
	if _, is := m.(container); is {
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

// archiveOf is an archive with one file.
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

// found takes a control off what is being looked for, and says whether it was
// where it was planted. The variable comes by way of an argument of the lab's.
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

// missing is an error that names the controls which were not found.
func (c control) missing() error {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if !c[name] {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("the search for secrets is blind: it did not find the %s", strings.Join(names, ", the "))
	}
	return nil
}
