package preflight

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/fstest"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"airgap.dev/airgap/internal/host"
)

// A recording is a txtar archive of what Gather read, in sections named
//
//	fs/PATH          a file; fs/PATH.base64 when it is not text
//	fs/PATH/         a directory
//	denied/PATH      a file that could not be read, with the reason
//	run/COMMAND      what a command wrote to stdout
//	fail/CODE/COMMAND  what a command that exited with CODE wrote last
//	end/             nothing: what follows is missing, where it has to be there
//
// It is made for people to read, write and cut down: COMMAND may be the
// beginning of a command line, and what is not recorded is not there.

// Record gathers a host's facts and records what they were read from. The
// recording tells as much about the host as the facts do, and no more secrets.
func Record(ctx context.Context, h host.Host) (archive []byte, facts *Facts, err error) {
	r := &recorder{host: h, sections: map[string]string{}}
	facts, err = Gather(ctx, r)
	return r.archive(), facts, err
}

type recorder struct {
	host     host.Host
	mu       sync.Mutex
	sections map[string]string
}

func (r *recorder) FS() fs.FS { return recordingFS{r, r.host.FS()} }

func (r *recorder) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	out, err := r.host.Run(ctx, cmd)
	argv := strings.Join(append([]string{cmd.Name}, cmd.Args...), " ")
	var failed *host.CommandError
	switch {
	case err == nil:
		r.add("run/"+argv, withoutPassword(string(out)))
	case errors.As(err, &failed) && failed.ExitCode >= 0:
		r.add(fmt.Sprintf("fail/%d/%s", failed.ExitCode, argv), failed.Tail)
	}
	return out, err
}

func (r *recorder) add(name, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text != "" || r.sections[name] == "" {
		r.sections[name] = text
	}
}

// archive leaves out what was taken for a file when its directory was listed
// and turned out to be a directory.
func (r *recorder) archive() []byte {
	var a txtar.Archive
	for _, name := range slices.Sorted(maps.Keys(r.sections)) {
		inside := strings.TrimSuffix(name, "/") + "/"
		isDir := func(other string) bool { return other != name && strings.HasPrefix(other, inside) }
		if strings.HasPrefix(name, "fs/") && slices.ContainsFunc(slices.Collect(maps.Keys(r.sections)), isDir) {
			continue
		}
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(r.sections[name])})
	}
	return txtar.Format(&a)
}

// recordingFS notes what is read through it.
type recordingFS struct {
	r     *recorder
	inner fs.FS
}

func (f recordingFS) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(f.inner, name)
	switch {
	case err == nil && utf8.Valid(data):
		f.r.add("fs/"+name, kept(name, string(data)))
	case err == nil:
		f.r.add("fs/"+name+".base64", base64.StdEncoding.EncodeToString(data))
	case !errors.Is(err, fs.ErrNotExist):
		f.r.add("denied/"+name, err.Error())
	}
	return data, err
}

// kept is what is recorded of a file. Some may hold the passwords of registries,
// repositories or proxies, or a key: of these only what is judged.
func kept(name, text string) string {
	only := func(lines *regexp.Regexp) string { return strings.Join(lines.FindAllString(text, -1), "\n") }
	switch {
	case name == "etc/containerd/config.toml":
		return only(systemdCgroup)
	case name == kubeletClient:
		return certificateBlocks(text)
	case slices.Contains(serviceDropIns(), path.Dir(name)):
		return only(unitUmask)
	case name == "etc/environment" || strings.HasPrefix(name, profiles+"/"):
		return withoutPassword(only(proxyLine))
	case name == "etc/dnf/dnf.conf" || strings.HasPrefix(name, repositories+"/"):
		return "exclude=" + strings.Join(excludes(strings.Split(text, "\n")), " ")
	default:
		return text
	}
}

// Open reads the whole file, so that it is recorded.
func (f recordingFS) Open(name string) (fs.File, error) {
	data, err := f.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return fstest.MapFS{name: {Data: data}}.Open(name)
}

func (f recordingFS) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(f.inner, name)
	if err == nil && info.IsDir() {
		f.r.add("fs/"+name+"/", "")
	} else if err == nil {
		f.r.add("fs/"+name, "")
	} else if !errors.Is(err, fs.ErrNotExist) {
		f.r.add("denied/"+name, err.Error())
	}
	return info, err
}

func (f recordingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.inner, name)
	if err == nil {
		f.r.add("fs/"+name+"/", "")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.r.add("denied/"+name, err.Error())
	}
	for _, e := range entries {
		f.r.add("fs/"+name+"/"+e.Name(), "")
	}
	return entries, err
}

// Replay is the host of a recording.
func Replay(archive []byte) (host.Host, error) {
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
	case "end":
	default:
		return errors.New("neither fs, denied, run, fail nor end")
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
		return nil // that it is there was known
	}
	r.files[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	return nil
}

func (r *recorded) FS() fs.FS { return replayFS{r.files, r.denied} }

// Run answers with the longest recorded beginning of the command line.
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

// replayFS refuses what the recorded host refused.
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

// deniedError is a recorded refusal; it keeps the reason and is a permission
// error, as it nearly always was.
type deniedError string

func (e deniedError) Error() string        { return string(e) }
func (e deniedError) Is(target error) bool { return target == fs.ErrPermission }
