package sysctld

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	activeProfile = "etc/tuned/active_profile"
	mainConfig    = "etc/tuned/tuned-main.conf"
	// enabledUnits is the directory of the units that start at boot.
	enabledUnits = "etc/systemd/system/multi-user.target.wants"
	tunedUnit    = "tuned.service"

	maxProfiles = 32
)

// profileDirs are the directories of profiles, first the one that wins. tuned 2.24 moved the profiles
// into the directories profiles.
func profileDirs() []string {
	return []string{"etc/tuned/profiles", "etc/tuned", "usr/lib/tuned/profiles", "usr/lib/tuned"}
}

var (
	profileName = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)
	separators  = regexp.MustCompile(`\s*[,;]\s*`)
	reapply     = regexp.MustCompile(`(?m)^\s*reapply_sysctl\s*=\s*(\w+)`)
)

// LeavesSysctls reports whether a tuned-main.conf has reapply_sysctl = 0: then the parameters of
// the profile win over those of /etc/sysctl.d.
func LeavesSysctls(config string) bool {
	m := reapply.FindStringSubmatch(config)
	return m != nil && slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(m[1]))
}

// readTuned reads the settings of tuned, if it starts at boot and its profile sets parameters.
func (b *Boot) readTuned(s *source) error {
	active, err := s.text(activeProfile)
	if err != nil || active == "" {
		return err
	}
	if units, err := s.names(enabledUnits); err != nil || len(units) > 0 && !slices.Contains(units, tunedUnit) {
		return err
	}
	p := profiles{source: s}
	for name := range strings.FieldsSeq(active) {
		if err := p.load(name); err != nil {
			return err
		}
	}
	if len(p.writes) == 0 {
		return nil
	}
	b.late = p.writes
	config, err := s.text(mainConfig)
	if err != nil || LeavesSysctls(config) {
		return err
	}
	return b.reapply(s)
}

// reapply reads the files that tuned applies again. It knows no globs and no hyphen, interchanges
// dots and slashes in every name, and reads /etc/sysctl.conf last, with or without a link to it.
func (b *Boot) reapply(s *source) error {
	of := map[string]string{}
	for _, dir := range []string{"run/sysctl.d", "etc/sysctl.d"} {
		names, err := s.names(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") && of[name] == "" {
				of[name] = dir + "/" + name
			}
		}
	}
	var files []string
	for _, file := range of {
		files = append(files, file)
	}
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(base(a), base(b)) })
	for _, file := range append(files, mainFile) {
		text, err := s.text(file)
		if err != nil {
			return err
		}
		for number, line := range strings.Split(text, "\n") {
			line = strings.TrimSpace(line)
			key, value, is := strings.Cut(line, "=")
			if key = strings.TrimSpace(key); !is || key == "" || line[0] == '#' || line[0] == ';' {
				continue
			}
			b.late = append(b.late, write{Setting: Setting{key, strings.TrimSpace(value), "/" + file, number + 1}, path: interchanged(key)})
		}
	}
	return nil
}

// profiles has the parameters of the active profiles. An included profile comes before the profile
// that includes it.
type profiles struct {
	*source
	read   []string // files; each is read once
	writes []write
}

func (p *profiles) load(name string) error {
	file, text, err := p.find(name)
	if err != nil || file == "" {
		return err
	}
	p.read = append(p.read, file)
	profile := parseProfile(text, "/"+file)
	if profile.include != "" {
		for _, included := range separators.Split(profile.include, -1) {
			if err := p.load(included); err != nil {
				return err
			}
		}
	}
	if profile.replaces {
		p.writes = nil
	}
	p.writes = append(p.writes, profile.writes...)
	return nil
}

// find returns the first file of a profile that was not read yet: a site's profile can include the
// package's profile with the same name.
func (p *profiles) find(name string) (file, text string, err error) {
	if !profileName.MatchString(name) || name == "." || name == ".." || len(p.read) >= maxProfiles {
		return "", "", nil
	}
	for _, dir := range profileDirs() {
		file := dir + "/" + name + "/tuned.conf"
		if slices.Contains(p.read, file) {
			continue
		}
		if text, err := p.text(file); err != nil || text != "" {
			return file, text, err
		}
	}
	return "", "", nil
}

type profile struct {
	include  string
	replaces bool // the parameters of included profiles do not apply
	writes   []write
}

// parseProfile reads the section [sysctl], sections with type=sysctl, and include= of [main].
func parseProfile(text, file string) profile {
	var p profile
	section, kind, off := "", "", false
	var writes []write
	end := func() {
		if (kind == "sysctl" || kind == "" && section == "sysctl") && !off {
			p.writes = append(p.writes, writes...)
		}
		kind, off, writes = "", false, nil
	}
	for number, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		if strings.HasPrefix(line, "[") && strings.HasSuffix(strings.TrimSpace(line), "]") {
			end()
			section = strings.Trim(strings.TrimSpace(line), "[]")
			continue
		}
		key, value, is := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`)
		switch {
		case !is || key == "" || key[0] == '#' || key[0] == ';':
		case section == "main":
			if key == "include" {
				p.include = value
			}
		case key == "type":
			kind = value
		case key == "enabled":
			off = isOff(value)
		case key == "replace":
			p.replaces = p.replaces || section == "sysctl" && !isOff(value)
		case strings.ContainsAny(key, "./"):
			writes = append(writes, write{Setting: Setting{key, value, file, number + 1}, path: interchanged(key)})
		}
	}
	end()
	return p
}

func isOff(value string) bool {
	return slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(value))
}

// skips reports whether tuned does not set a value: ">100" only raises a value, "<100" only lowers
// it.
func skips(value, now string) bool {
	if value == "" || value[0] != '>' && value[0] != '<' {
		return false
	}
	limit, errLimit := strconv.ParseInt(strings.TrimSpace(value[1:]), 10, 64)
	have, errHave := strconv.ParseInt(now, 10, 64)
	return errLimit == nil && errHave == nil && (value[0] == '>' && have >= limit || value[0] == '<' && have <= limit)
}

// applied is the setting with the value that is written.
func (w write) applied() Setting {
	w.Value = strings.TrimSpace(strings.TrimLeft(w.Value, "<>"))
	return w.Setting
}
