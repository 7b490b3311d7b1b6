package facts

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/unitfile"
)

// record gathers a host's facts and records their sources in the format of package replay. The
// recording contains no secrets that the facts do not contain.
func record(ctx context.Context, h host.Host) (archive []byte, facts *Facts, err error) {
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

// archive skips entries of listed directories that are directories themselves.
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

// recordingFS records all files that are read.
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

var (
	scriptLine = regexp.MustCompile(nextboot.ScriptLines)
	cronLine   = regexp.MustCompile(`\b(aide|updatedb)\b|` + nextboot.ScriptLines)
)

var mountSecret = regexp.MustCompile(`(?i)([,\s=]pass(?:word|wd)?2?=)[^,\s]*`)

// kept is the recorded part of a file. Files that can contain passwords or keys are reduced to the
// lines that checks use.
func kept(name, text string) string {
	only := func(lines *regexp.Regexp) string { return strings.Join(lines.FindAllString(text, -1), "\n") }
	switch {
	case name == "etc/containerd/config.toml":
		return only(systemdCgroup)
	case name == fstabFile || path.Ext(name) == ".mount":
		return mountSecret.ReplaceAllString(text, "$1***")
	case name == crypttabFile:
		return regexp.MustCompile(`(?m)^([^#\s]\S*)[ \t]+\S+[ \t]+\S+|^#.*`).ReplaceAllString(text, "$1 - -")
	case name == shadowFile || name == passwdFile:
		return withoutHashes(text)
	case name == kubeletClient:
		return certificateBlocks(text)
	case slices.Contains(serviceDropIns(), path.Dir(name)):
		return settingLines(text)
	case strings.Contains(name, "systemd/logind.conf") || strings.Contains(name, "systemd/system.conf"):
		return settingLines(text)
	case slices.Contains(kubeletEnvironments(), name):
		return atLines(readEnvironment(unitfile.File{}, text).Settings)
	case name == CrictlFile:
		return only(crictlEndpoint)
	case slices.Contains(connectionDirs(), path.Dir(name)) || path.Dir(name) == IfcfgDir:
		return numbered(text, networkLine)
	case name == "etc/crontab" || strings.HasPrefix(name, "etc/cron.") || path.Dir(name) == "var/spool/cron":
		return numbered(text, cronLine)
	case name == "etc/rc.d/rc.local" || path.Dir(name) == "etc/rc.d/init.d" || path.Dir(name) == "etc/udev/rules.d" || strings.HasSuffix(path.Dir(name), ".service.d"):
		return numbered(text, scriptLine)
	case name == "etc/environment" || strings.HasPrefix(name, profiles+"/"):
		return withoutPassword(only(proxyLine))
	case name == "etc/dnf/dnf.conf" || strings.HasPrefix(name, repositories+"/"):
		return "exclude=" + strings.Join(excludes(strings.Split(text, "\n")), " ")
	case name == "etc/fstab":
		return regexp.MustCompile(`(?i)(pass[a-z0-9]*=)[^,\s]*`).ReplaceAllString(text, "$1***")
	default:
		return text
	}
}

var passwordField = regexp.MustCompile(`(?m)^([^:\n]*):([!*]?)([^:\n]?)[^:\n]*:`)

// withoutHashes replaces the hashes of passwords by x, and keeps the mark of a locked password.
func withoutHashes(text string) string {
	return passwordField.ReplaceAllStringFunc(text, func(field string) string {
		part := passwordField.FindStringSubmatch(field)
		if part[2] == "" && part[3] != "" {
			part[2] = "x"
		}
		return part[1] + ":" + part[2] + ":"
	})
}

// numbered empties the lines that do not match, and keeps the numbers of the others.
func numbered(text string, wanted *regexp.Regexp) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !wanted.MatchString(line) {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// Open reads the complete file to record it.
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

// settingLines keeps the settings of a file of systemd, as the survey script does.
func settingLines(text string) string {
	if strings.HasPrefix(text, airgapMark) {
		return airgapMark + "\n"
	}
	return atLines(unitfile.File{}.Read(text, unitValue).Settings)
}

// atLines writes settings at their lines. The header of a section is on a line of its own before them.
func atLines(settings []unitfile.Setting) string {
	var text strings.Builder
	line, section := 1, ""
	to := func(next int) {
		for ; line < next; line++ {
			text.WriteByte('\n')
		}
	}
	for _, s := range settings {
		if s.Section != section {
			section = s.Section
			to(s.Line - 1)
			text.WriteString("[" + section + "]")
		}
		to(s.Line)
		text.WriteString(s.String())
	}
	return text.String()
}
