package scenario

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// SurveyByScript surveys a server again, by the script, without the program:
// the facts are the same, small on the stick, and take the place of the
// program's own.
func SurveyByScript(ctx context.Context, e *Env, m lab.Machine) error {
	script, err := e.Airgap(ctx, "survey", "--script")
	if err != nil {
		return err
	}
	if err := lab.PutFile(ctx, m, "/root/survey.sh", 0o644, strings.NewReader(script.Stdout)); err != nil {
		return err
	}
	r, err := e.Must(ctx, m, []string{"-- end/ --"}, "sh", "/root/survey.sh")
	if err = errors.Join(err, e.Script(ctx, m, "rm /root/survey.sh")); err != nil {
		return err
	}
	if r.Stderr != "" {
		return fmt.Errorf("the survey's script says on %s: %s", m.Name(), r.Stderr)
	}
	packed, err := packedSurvey(e, m, []byte(r.Stdout))
	if err != nil {
		return err
	}
	survey := filepath.Join(e.Facts(), m.Name()+".survey.gz")
	if err := os.WriteFile(survey, packed, 0o644); err != nil {
		return err
	}
	program := filepath.Join(e.Facts(), m.Name()+".facts.yaml")
	if err := sameFacts(ctx, e, program, survey); err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "the script tells of %s what the program does, in %d KB packed\n", m.Name(), len(packed)/1000)
	return os.Remove(program)
}

// maxSurvey is what the survey of a server of 600 packages may have, packed, in
// bytes: it can leave a bank on paper if it must.
const maxSurvey = 300_000

func packedSurvey(e *Env, m lab.Machine, text []byte) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(text)
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	if e.hosts == nil && packed.Len() > maxSurvey { // others may have more packages
		return nil, fmt.Errorf("the survey of %s has %d bytes packed, more than %d", m.Name(), packed.Len(), maxSurvey)
	}
	return packed.Bytes(), nil
}

// unsteady changes from one moment to the next.
var unsteady = regexp.MustCompile(`(?m)^\s+(now|used|free|inodesFree): .*\n`)

func sameFacts(ctx context.Context, e *Env, program, survey string) error {
	want, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	r, err := e.Airgap(ctx, "survey", "--from", survey, "--output", "yaml")
	if err != nil {
		return err
	}
	if err := r.Want("facts of the survey", 0); err != nil {
		return err
	}
	a, b := unsteady.ReplaceAllString(string(want), ""), unsteady.ReplaceAllString(r.Stdout, "")
	if a == b {
		return nil
	}
	theirs := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(theirs) || line != theirs[i] {
			return fmt.Errorf("line %d of the facts: the program says %q, the script %q", i+1, line, theirs[min(i, len(theirs)-1)])
		}
	}
	return errors.New("the script tells more than the program")
}
