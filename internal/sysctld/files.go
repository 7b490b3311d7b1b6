package sysctld

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
)

// directories are the directories of systemd-sysctl. A file in an earlier directory hides the files with the
// same name in later ones. In Enterprise Linux, /lib is /usr/lib.
func directories() []string {
	return []string{"etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d"}
}

// Files are the files that systemd-sysctl reads, in its order: by name, from all directories.
func (s *source) files() ([]string, error) {
	of := map[string]string{}
	for _, dir := range directories() {
		names, err := s.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") && !strings.HasPrefix(name, ".") && of[name] == "" {
				of[name] = dir + "/" + name
			}
		}
	}
	files := make([]string, 0, len(of))
	for _, file := range of {
		files = append(files, file)
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(base(a), base(b)) })
	return files, nil
}

func base(file string) string { return file[strings.LastIndex(file, "/")+1:] }

const (
	mainFile = "etc/sysctl.conf"
	mainLink = "etc/sysctl.d/99-sysctl.conf"
)

// readFiles reads the settings of systemd-sysctl.
func (b *Boot) readFiles(s *source) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	globs, err := s.knowsGlobs()
	if err != nil {
		return err
	}
	main, err := s.text(mainFile)
	if err != nil {
		return err
	}
	at := map[string]int{} // the index in options by key
	for _, file := range files {
		text, err := s.text(file)
		if err != nil {
			return err
		}
		if file == mainLink && text == main {
			file = mainFile
		}
		for number, line := range strings.Split(text, "\n") {
			if w, excluded, is := parse(line, globs); is {
				w.File, w.Line = "/"+file, number+1
				b.add(w, excluded, at)
			}
		}
	}
	b.options = slices.DeleteFunc(b.options, func(w write) bool { return w.path == "" })
	return nil
}

// add sets the value of a key. A key with another value than before moves to the end of the order,
// and a key with the same value keeps its place.
func (b *Boot) add(w write, excluded bool, at map[string]int) {
	i, before := at[w.path]
	switch {
	case before && !excluded && b.options[i].Value == w.Value:
		b.options[i].Setting = w.Setting
		return
	case before:
		b.options[i].path = ""
		delete(at, w.path)
	}
	if !w.glob {
		b.named[w.path] = true
	}
	if !excluded {
		at[w.path] = len(b.options)
		b.options = append(b.options, w)
	}
}

// parse reads a line in the format of sysctl.d(5). A line with a hyphen and without a value excludes
// a parameter from globs.
func parse(line string, globs bool) (w write, excluded, is bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' || line[0] == ';' {
		return w, false, false
	}
	key, value, assigned := strings.Cut(line, "=")
	key, hyphen := strings.CutPrefix(key, "-")
	if !assigned && (!hyphen || !globs) {
		return w, false, false
	}
	key = strings.TrimSpace(key)
	w = write{Setting: Setting{Key: Name(Path(key)), Value: strings.TrimSpace(value)}, path: Path(key), glob: globs && isGlob(key)}
	return w, !assigned, w.path != ""
}

// KnowsGlobs reports whether the host's systemd-sysctl knows globs.
func KnowsGlobs(fsys fs.FS) (bool, error) { return (&source{fs: fsys}).knowsGlobs() }

// knowsGlobs is false for Enterprise Linux 8: its systemd 239 takes a glob for the name of a
// parameter that does not exist. systemd knows globs from version 245 on.
func (s *source) knowsGlobs() (bool, error) {
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		text, err := s.text(file)
		if err != nil {
			return true, err
		}
		for line := range strings.Lines(text) {
			version, is := strings.CutPrefix(strings.TrimSpace(line), "VERSION_ID=")
			if !is {
				continue
			}
			major, _, _ := strings.Cut(strings.Trim(version, `"'`), ".")
			n, err := strconv.Atoi(major)
			return err != nil || n > 8, nil
		}
	}
	return true, nil
}

// readCommandLine reads sysctl.NAME=VALUE of the next boot's command line. Modules are not loaded at that time, so their parameters
// do not exist yet.
func (b *Boot) readCommandLine(s *source) error {
	release, err := s.text("proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	text, err := s.text(commandLine)
	if err != nil {
		return err
	}
	at := Setting{File: "/" + commandLine}
	// The boot loader's files may be readable for root only; then the command line of now stays.
	if next, err := nextboot.ReadEntry(s.fs); err == nil && next.ID != "" {
		text, at, release = next.Cmdline, Setting{File: next.File, Line: next.Line}, cmp.Or(next.Release, release)
	}
	if !appliesCommandLine(release) {
		return nil
	}
	for _, word := range words(text) {
		if word == "--" { // the rest is for init
			break
		}
		name, value, is := strings.Cut(word, "=")
		key, ours := strings.CutPrefix(name, "sysctl.")
		if !ours {
			key, ours = strings.CutPrefix(name, "sysctl/")
		}
		p := strings.ReplaceAll(key, ".", "/")
		if !is || !ours || ofModule(p) {
			continue
		}
		b.early = append(b.early, write{Setting: Setting{Key: Name(p), Value: strings.TrimSpace(value), File: at.File, Line: at.Line}, path: p})
	}
	return nil
}

func ofModule(p string) bool {
	return strings.HasPrefix(p, "net/bridge/") || strings.HasPrefix(p, "net/netfilter/") || p == conntrackAlias
}

// appliesCommandLine is true from Linux 5.8 on.
func appliesCommandLine(release string) bool {
	major, rest, _ := strings.Cut(release, ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, errMajor := strconv.Atoi(major)
	y, errMinor := strconv.Atoi(minor)
	return errMajor == nil && errMinor == nil && (x > 5 || x == 5 && y >= 8)
}

// words splits a command line at white space outside of double quotes, and removes the quotes.
func words(text string) []string {
	quoted := false
	fields := strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t' || r == '\n')
	})
	for i := range fields {
		fields[i] = strings.ReplaceAll(fields[i], `"`, "")
	}
	return fields
}
