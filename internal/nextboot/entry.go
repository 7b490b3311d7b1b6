package nextboot

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

const (
	// grubEnvironment is GRUB's environment block: 1024 bytes with NAME=VALUE lines, padded with
	// "#". On EL 8 with UEFI it is a link to the block on the EFI partition.
	grubEnvironment = "boot/grub2/grubenv"
	// bootEntries is the directory of the boot loader entries, one file per entry:
	// MACHINE-ID-RELEASE.conf (UAPI: boot loader specification).
	bootEntries = "boot/loader/entries"
)

// grubConfigs are the places of grub.cfg. On EL 8 with UEFI it is on the EFI partition.
func grubConfigs() []string { return []string{"boot/grub2/grub.cfg", "boot/efi/EFI"} }

// Entry is the boot loader's default entry.
type Entry struct {
	ID      string `yaml:"id" json:"id"`
	Release string `yaml:"release,omitempty" json:"release,omitempty"` // of the kernel, as in uname -r; "" for a rescue image and other programs
	// Cmdline is the kernel command line, without GRUB's variables. It is unknown for an entry of
	// another kind.
	Cmdline string `yaml:"cmdline,omitempty" json:"cmdline,omitempty"`
	Place   `yaml:",inline"`
}

// ReadEntry reads the default entry: the one that grubby or grub2-set-default has chosen, else
// the first in GRUB's order. It is the zero value on a host without such files. An entry for one
// boot only (grub2-reboot) does not count.
func ReadEntry(fsys fs.FS) (Entry, error) {
	environment, err := read(fsys, grubEnvironment)
	if err != nil {
		return Entry{}, err
	}
	grub, err := readGrub(fsys)
	if err != nil {
		return Entry{}, err
	}
	variables := grub.variables
	for _, name := range []string{"kernelopts", "tuned_params"} {
		if value := variable(environment.lines, name); value != "" {
			variables[name] = value
		}
	}
	saved := variable(environment.lines, "saved_entry")
	if grub.fixed != "" {
		saved = grub.fixed
	}
	entries, titles, err := readEntries(fsys, variables)
	if err != nil {
		return Entry{}, err
	}
	if len(entries) == 0 || len(grub.entries) > 0 && !grub.readsEntries {
		entries, titles = grub.entries, grub.titles
	}
	return choose(entries, titles, saved), nil
}

// choose is GRUB's choice: an entry by its id, its title or its index, else the first.
func choose(entries []Entry, titles map[string]string, saved string) Entry {
	if len(entries) == 0 {
		return Entry{}
	}
	if i := slices.IndexFunc(entries, func(e Entry) bool { return saved != "" && (e.ID == saved || titles[e.ID] == saved) }); i >= 0 {
		return entries[i]
	}
	if i, err := strconv.Atoi(saved); err == nil && i >= 0 && i < len(entries) {
		return entries[i]
	}
	return entries[0]
}

// variable is a value of GRUB's environment block; "" if it is not set.
func variable(lines []string, name string) string {
	for _, line := range lines {
		if value, is := strings.CutPrefix(line, name+"="); is && printable(value) {
			return value
		}
	}
	return ""
}

func printable(text string) bool {
	return len(text) <= 4096 && !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0xFFFD })
}

// entryID matches ids that can be a file name.
var entryID = regexp.MustCompile(`^[\w.+~^:-]{1,240}$`)

// readEntries reads the entries in GRUB's order, the newest first, and their titles by id.
func readEntries(fsys fs.FS, variables map[string]string) ([]Entry, map[string]string, error) {
	found, err := names(fsys, bootEntries)
	if err != nil {
		return nil, nil, err
	}
	titles := map[string]string{}
	var entries []Entry
	for _, name := range found {
		id, is := strings.CutSuffix(name, ".conf")
		if !is || !entryID.MatchString(id) || len(entries) >= mostFound {
			continue
		}
		s, err := read(fsys, bootEntries+"/"+name)
		if err != nil {
			return nil, nil, err
		}
		if e := parseEntry(s, variables); e.ID != "" {
			entries = append(entries, e)
			titles[e.ID] = titleOf(s)
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return nevra.EVR{Version: b.ID}.Compare(nevra.EVR{Version: a.ID}) })
	return entries, titles, nil
}

// titleOf is the title of an entry. grub2-set-default can choose an entry by it.
func titleOf(s source) string {
	for _, line := range s.lines {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "title" {
			return strings.Join(fields[1:], " ")
		}
	}
	return ""
}

// parseEntry reads the kernel and its options. Several lines of options are one. An entry without
// a kernel, such as one for an EFI program, has no release.
func parseEntry(s source, variables map[string]string) Entry {
	e := Entry{ID: strings.TrimSuffix(path.Base(s.path), ".conf"), Place: Place{File: "/" + s.path}}
	var options []string
	for i, line := range s.lines {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "linux":
			e.Release = releaseOf(fields[1])
		case "options":
			options = append(options, fields[1:]...)
			e.Line = i + 1
		}
	}
	e.Cmdline = expand(options, variables)
	return e
}

// releaseOf is the release of a kernel's file; "" for a rescue image and for other programs.
func releaseOf(file string) string {
	release, is := strings.CutPrefix(path.Base(file), "vmlinuz-")
	if !is || strings.HasPrefix(release, "0-rescue-") {
		return ""
	}
	return release
}

// expand replaces GRUB's variables. One that is not known is empty, as in GRUB.
func expand(words []string, variables map[string]string) string {
	var all []string
	for _, word := range words {
		name, is := strings.CutPrefix(word, "$")
		if !is {
			all = append(all, word)
			continue
		}
		if value := strings.TrimSpace(variables[strings.Trim(name, "{}")]); value != "" {
			all = append(all, value)
		}
	}
	return strings.Join(all, " ")
}

// grub is the part of grub.cfg that decides the next boot.
type grub struct {
	fixed     string // GRUB_DEFAULT of /etc/default/grub, if it is not "saved"
	variables map[string]string
	entries   []Entry           // in grub.cfg itself
	titles    map[string]string // of these entries, by id
	// readsEntries is true if the command blscfg reads the boot loader entries. Without it they do
	// not count (GRUB_ENABLE_BLSCFG=false).
	readsEntries bool
}

func readGrub(fsys fs.FS) (grub, error) {
	g := grub{variables: map[string]string{}, titles: map[string]string{}}
	files := []string{grubConfigs()[0]}
	vendors, err := names(fsys, grubConfigs()[1])
	if err != nil {
		return g, err
	}
	for _, vendor := range vendors {
		files = append(files, grubConfigs()[1]+"/"+vendor+"/grub.cfg")
	}
	for _, file := range files {
		s, err := read(fsys, file)
		if err != nil {
			return g, err
		}
		g.parse(s)
	}
	return g, nil
}

var (
	grubSet  = regexp.MustCompile(`^\s*set (default|kernelopts|tuned_params)="([^"$]*)"\s*$`)
	grubMenu = regexp.MustCompile(`^\s*menuentry '([^']*)'(?:.*menuentry_id_option '([^']*)')?`)
)

func (g *grub) parse(s source) {
	id := ""
	for i, line := range s.lines {
		if m := grubSet.FindStringSubmatch(line); m != nil {
			if m[1] == "default" {
				g.fixed = m[2]
			} else {
				g.variables[m[1]] = m[2]
			}
			continue
		}
		if m := grubMenu.FindStringSubmatch(line); m != nil {
			if id = m[2]; id == "" {
				id = m[1]
			}
			g.titles[id] = m[1]
			continue
		}
		fields := strings.Fields(line)
		g.readsEntries = g.readsEntries || len(fields) == 1 && fields[0] == "blscfg"
		if id != "" && len(fields) >= 2 && slices.Contains([]string{"linux", "linux16", "linuxefi"}, fields[0]) && len(g.entries) < mostFound {
			g.entries = append(g.entries, Entry{id, releaseOf(fields[1]), expand(fields[2:], g.variables), s.at(i)})
			id = ""
		}
	}
}
