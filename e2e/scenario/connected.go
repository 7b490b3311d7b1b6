package scenario

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"airgap.dev/airgap/e2e/lab"
)

//go:embed airgap.yaml.tmpl
var configTemplate string

// Result is the output and the exit code of a command.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Airgap runs the program on the connected host.
func (e *Env) Airgap(ctx context.Context, args ...string) (Result, error) {
	return e.Command(exec.CommandContext(ctx, e.Program, args...))
}

// Command runs a prepared command with the connected host's environment: its keys, its
// credentials and its cache are in the work directory, not in the home directory of this machine.
func (e *Env) Command(cmd *exec.Cmd) (Result, error) { return e.Watched(cmd, new(Watcher)) }

// Watched runs a command like Command, and stderr gets its stderr.
func (e *Env) Watched(cmd *exec.Cmd, stderr *Watcher) (Result, error) {
	var stdout bytes.Buffer
	cmd.Args = withNewKeys(cmd.Args)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(e.Work, "config"), "XDG_CACHE_HOME="+filepath.Join(e.Work, "cache"))
	if e.hosts == nil { // the logins to a site's registries are those of the user
		cmd.Env = append(cmd.Env, "DOCKER_CONFIG="+filepath.Join(e.Work, "docker"))
	}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	if e.Terminal {
		cmd.Stderr = os.Stderr
		cmd.Stdout = io.MultiWriter(os.Stdout, &stdout)
	}
	err := cmd.Run()
	r := Result{Stdout: stdout.String(), Stderr: stderr.text.String(), Code: cmd.ProcessState.ExitCode()}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		err = nil // it is in r.Code
	}
	return r, errors.Join(err, record(e, "connected host", cmd.Args, r))
}

// withNewKeys lets airgap bundle create the keys of the scenario: its work directory has none.
func withNewKeys(args []string) []string {
	if len(args) < 2 || args[1] != "bundle" || slices.Contains(args, "--plan") || slices.Contains(args, "--new-keys") {
		return args
	}
	return append(slices.Clone(args), "--new-keys")
}

// Watcher keeps the text that is written to it. It calls React once, when the text
// contains Mark.
type Watcher struct {
	text  bytes.Buffer
	Mark  string
	React func()
}

func (w *Watcher) Write(p []byte) (int, error) {
	w.text.Write(p)
	if w.React != nil && strings.Contains(w.text.String(), w.Mark) {
		go w.React()
		w.React = nil
	}
	return len(p), nil
}

// Config writes an airgap.yaml for the lab and changes it by edits (pairs of old and new
// text). For foreign hosts, it returns the site's file.
func (e *Env) Config(name string, edits ...string) (string, error) {
	if e.hosts != nil && len(edits) == 0 {
		return e.hosts.Config, nil
	}
	if e.hosts != nil {
		return "", errors.New("edit airgap.yaml: it is the site's file")
	}
	return e.Render(name, configTemplate, edits...)
}

// Render executes a template, applies the edits and returns the path of the file.
func (e *Env) Render(name, text string, edits ...string) (string, error) {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	mirror := strings.TrimPrefix(e.Upstream.URL, "https://")
	if err := t.Execute(&b, map[string]any{"CA": e.Upstream.CA, "Mirror": mirror, "CgroupV1": !lab.Unified()}); err != nil {
		return "", err
	}
	text = b.String()
	for i := 0; i+1 < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			return "", fmt.Errorf("edit %s: text not found: %q", name, edits[i])
		}
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	path := filepath.Join(e.Work, name)
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// Want checks a command's exit code, and that its stdout and stderr contain all parts.
func (r Result) Want(what string, code int, parts ...string) error {
	if r.Code != code {
		return fmt.Errorf("%s: exit code %d, want %d\n%s%s", what, r.Code, code, r.Stdout, r.Stderr)
	}
	for _, p := range parts {
		if !strings.Contains(r.Stdout+r.Stderr, p) {
			return fmt.Errorf("%s: %q is not in the output:\n%s%s", what, p, r.Stdout, r.Stderr)
		}
	}
	return nil
}

// Do runs the program on the connected host and checks its exit code and output.
func (e *Env) Do(ctx context.Context, code int, parts []string, args ...string) error {
	r, err := e.Airgap(ctx, args...)
	if err != nil {
		return err
	}
	return r.Want("airgap "+strings.Join(args, " "), code, parts...)
}
