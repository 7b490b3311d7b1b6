// Package replay provides a recorded host: preflight.Gather reads the same facts from it as from
// the host itself, without running a program.
//
// A recording is a txtar archive of the data that Gather reads, in sections named
//
//	fs/PATH          a file; fs/PATH.base64 if it is not text
//	fs/PATH/         a directory
//	denied/PATH      an unreadable file, with the error
//	run/COMMAND      the stdout of a command
//	fail/CODE/COMMAND  the last output of a command that exited with CODE
//	facts/NAMES      the facts that a survey asks for
//	end/             the end of a complete survey
//
// A recording can be read, written and shortened by hand: COMMAND can be the beginning of a command
// line, and files and commands without a section do not exist.
package replay

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"airgap.dev/airgap/internal/host"
)

// Host returns the host of a recording. The error is about an invalid section.
func Host(archive []byte) (host.Host, error) {
	r := &recorded{files: fstest.MapFS{}, denied: map[string]string{}, commands: map[string]answer{}}
	for _, file := range txtar.Parse(archive).Files {
		if err := r.load(file.Name, file.Data); err != nil {
			return nil, fmt.Errorf("replay section %q: %w", file.Name, err)
		}
	}
	return r, nil
}

type recorded struct {
	files    fstest.MapFS
	denied   map[string]string
	commands map[string]answer
}

type answer struct {
	exitCode int
	text     string
}

func (r *recorded) load(section string, data []byte) error {
	kind, name, _ := strings.Cut(section, "/")
	switch kind {
	case "fs":
		return r.loadFile(name, data)
	case "denied":
		r.denied[name] = strings.TrimSpace(string(data))
	case "run":
		r.commands[name] = answer{text: string(data)}
	case "fail":
		code, command, _ := strings.Cut(name, "/")
		n, err := strconv.Atoi(code)
		if err != nil {
			return err
		}
		r.commands[command] = answer{n, strings.TrimSpace(string(data))}
	case "facts", "end":
	default:
		return errors.New("unknown kind, expected fs, denied, run, fail, facts or end")
	}
	return nil
}

func (r *recorded) loadFile(name string, data []byte) error {
	if dir, is := strings.CutSuffix(name, "/"); is {
		r.files[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		return nil
	}
	if plain, is := strings.CutSuffix(name, ".base64"); is {
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
		if err != nil {
			return err
		}
		name, data = plain, decoded
	}
	if r.files[name] != nil && len(data) == 0 {
		return nil // a section without content only states that the file exists
	}
	r.files[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	return nil
}

func (r *recorded) FS() fs.FS { return replayFS{r.files, r.denied} }

// Run returns the recorded output of the longest matching beginning of the command line.
func (r *recorded) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	argv := append([]string{cmd.Name}, cmd.Args...)
	for n := len(argv); n > 0; n-- {
		got, ok := r.commands[strings.Join(argv[:n], " ")]
		if !ok {
			continue
		}
		if got.exitCode == 0 {
			return []byte(got.text), nil
		}
		return nil, &host.CommandError{Argv: argv, ExitCode: got.exitCode, Tail: got.text, Err: fmt.Errorf("exit status %d", got.exitCode)}
	}
	return nil, &host.CommandError{Argv: argv, ExitCode: -1, Err: exec.ErrNotFound}
}

// replayFS returns the recorded permission errors.
type replayFS struct {
	fstest.MapFS
	denied map[string]string
}

func (f replayFS) ReadFile(name string) ([]byte, error) {
	if err := f.refuse(name); err != nil {
		return nil, err
	}
	return fs.ReadFile(f.MapFS, name)
}

func (f replayFS) Stat(name string) (fs.FileInfo, error) {
	if err := f.refuse(name); err != nil {
		return nil, err
	}
	return fs.Stat(f.MapFS, name)
}

func (f replayFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.refuse(name); err != nil {
		return nil, err
	}
	return fs.ReadDir(f.MapFS, name)
}

func (f replayFS) refuse(name string) error {
	if reason, is := f.denied[name]; is {
		return &fs.PathError{Op: "open", Path: name, Err: deniedError(reason)}
	}
	return nil
}

// deniedError is a recorded error with its text. It counts as a permission error, which is the
// usual cause.
type deniedError string

func (e deniedError) Error() string        { return string(e) }
func (e deniedError) Is(target error) bool { return target == fs.ErrPermission }
