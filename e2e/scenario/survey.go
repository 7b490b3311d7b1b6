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

// SurveyByScript surveys a server again with the script, without the program. It checks that
// the facts are the same and small enough, and replaces the program's facts with them.
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
		return fmt.Errorf("the survey's script prints on %s: %s", m.Name(), r.Stderr)
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
	fmt.Fprintf(e.Log, "survey of %s: the script reports the same facts as the program, %d KB packed\n", m.Name(), len(packed)/1000)
	return os.Remove(program)
}

// maxSurvey is the limit in bytes for a packed survey of a server with 600 packages: a site
// can carry it out even on paper.
const maxSurvey = 300_000

func packedSurvey(e *Env, m lab.Machine, text []byte) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(text)
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	if e.hosts == nil && packed.Len() > maxSurvey { // foreign hosts may have more packages
		return nil, fmt.Errorf("the survey of %s has %d bytes packed, more than %d", m.Name(), packed.Len(), maxSurvey)
	}
	return packed.Bytes(), nil
}

// unsteady matches lines that change all the time.
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
	script := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(script) || line != script[i] {
			return fmt.Errorf("line %d of the facts: the program prints %q, the script %q", i+1, line, script[min(i, len(script)-1)])
		}
	}
	return errors.New("the script prints more facts than the program")
}
