package nextboot

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// ScriptLines matches the lines of scripts that count here, for the survey script: an extended regular
// expression without commas.
const ScriptLines = `swapon|sysctl|/proc/sys/|ip6?tables|nft[[:space:]]`

// ownDropIns are the drop-ins that other facts have: of these units no line may be filtered twice.
func ownDropIns() []string {
	return []string{"kubelet.service.d", "containerd.service.d", "crio.service.d"}
}

// Command is a line that sets up the host at boot without systemd's own configuration.
type Command struct {
	Text  string `yaml:"text" json:"text"`
	Place `yaml:",inline"`
}

// bootScripts are the files of the site with commands that run at boot: rc.local, services and their
// drop-ins, init scripts, rules of udev, scripts of NetworkManager and tuned, and the tables of cron.
func bootScripts(fsys fs.FS) ([]string, error) {
	files := []string{"etc/rc.d/rc.local"}
	for _, dir := range []string{etcUnits, localUnits} {
		found, err := names(fsys, dir)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			switch {
			case strings.HasSuffix(name, ".service"):
				files = append(files, dir+"/"+name)
			case strings.HasSuffix(name, ".service.d") && !slices.Contains(ownDropIns(), name):
				dropIns, err := names(fsys, dir+"/"+name)
				if err != nil {
					return nil, err
				}
				files = append(files, prefixed(dir+"/"+name+"/", dropIns)...)
			}
		}
	}
	for _, dir := range []string{"etc/rc.d/init.d", "etc/udev/rules.d", "etc/cron.d", "etc/cron.hourly", dispatcher, dispatcher + "/pre-up.d"} {
		found, err := names(fsys, dir)
		if err != nil {
			return nil, err
		}
		files = append(files, prefixed(dir+"/", found)...)
	}
	for _, dir := range []string{"etc/tuned", "etc/tuned/profiles"} {
		profiles, err := names(fsys, dir)
		if err != nil {
			return nil, err
		}
		for _, name := range profiles {
			files = append(files, dir+"/"+name+"/script.sh")
		}
	}
	return append(files, "etc/crontab", "var/spool/cron/root"), nil
}

// dispatcher has the site's scripts that NetworkManager runs when an interface comes up.
const dispatcher = "etc/NetworkManager/dispatcher.d"

// setsUp matches commands that write kernel parameters, or rules of a packet filter that stop or remove
// others.
var setsUp = regexp.MustCompile(`\bsysctl\b[^|;&]*[a-z0-9_]\s*=|>\s*"?/proc/sys/|\bip6?tables(-nft|-legacy)?\b.*(\s-P\s+(INPUT|FORWARD)\s+DROP|\s-F\b|\s--flush\b|\s-j\s+(DROP|REJECT))|` +
	`\bip6?tables(-nft|-legacy)?-restore\b|\bnft\b.*(\s-f\s|\sflush\s)`)

// ReadCommands reads such commands from the scripts that run at boot. A script with another name that
// they start is not read.
func ReadCommands(fsys fs.FS) ([]Command, error) {
	files, err := bootScripts(fsys)
	if err != nil {
		return nil, err
	}
	var commands []Command
	for _, file := range files {
		found, err := linesWith(fsys, file, ByScript, setsUp.MatchString)
		if err != nil {
			return nil, err
		}
		for _, line := range found {
			if len(commands) < mostFound {
				commands = append(commands, Command{line.What, line.Place})
			}
		}
	}
	return commands, nil
}

var (
	parameterSet = regexp.MustCompile(`([a-z0-9_*-]+(?:[./][a-zA-Z0-9_*-]+)+)\s*=\s*["']?([^\s"';|&]+)`)
	parameterPut = regexp.MustCompile(`echo\s+(?:-n\s+)?["']?([^\s"';|&>]+)["']?\s*>\s*"?/proc/sys/([a-zA-Z0-9_./*-]+)`)
)

// Parameters are the kernel parameters that the command sets, by name with dots, with their values.
func (c Command) Parameters() map[string]string {
	set := map[string]string{}
	if strings.Contains(c.Text, "sysctl") {
		for _, m := range parameterSet.FindAllStringSubmatch(c.Text, -1) {
			set[strings.ReplaceAll(m[1], "/", ".")] = m[2]
		}
	}
	for _, m := range parameterPut.FindAllStringSubmatch(c.Text, -1) {
		set[strings.ReplaceAll(m[2], "/", ".")] = m[1]
	}
	return set
}

// Filters reports whether the command is for a packet filter.
func (c Command) Filters() bool {
	return strings.Contains(c.Text, "tables") || strings.Contains(c.Text, "nft")
}
