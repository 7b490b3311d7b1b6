// Package auditrules reads the rules of the Linux audit system, and finds the ones that record the
// work of containers. It reads text and runs no program.
package auditrules

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rules is the part of the rules that matters for a node.
type Rules struct {
	// Floods are the rules that record frequent system calls of containers.
	Floods []Rule `yaml:"floods,omitempty" json:"floods,omitempty"`
	// Panics is the setting -f 2: the kernel panics if a record is lost. Nil if it is not set.
	Panics *Rule `yaml:"panics,omitempty" json:"panics,omitempty"`
	// Backlog is the setting -b, and BacklogAt its place; 0 if no file sets it.
	Backlog   int    `yaml:"backlog,omitempty" json:"backlog,omitempty"`
	BacklogAt string `yaml:"backlogAt,omitempty" json:"backlogAt,omitempty"`
	// Locked is the setting -e 2: other rules apply only after a reboot. Nil if it is not set.
	Locked *Rule `yaml:"locked,omitempty" json:"locked,omitempty"`
}

// Rule is a line of a file.
type Rule struct {
	At   string `yaml:"at" json:"at"` // "/etc/audit/rules.d/50-cis.rules:12"
	Text string `yaml:"text" json:"text"`
	// Unset is true if the rule names auid>=NUMBER, and no condition leaves out processes without a
	// login: their number is the largest one.
	Unset bool `yaml:"unset,omitempty" json:"unset,omitempty"`
}

const (
	maxFloods = 50
	maxText   = 300
)

// Reader reads the files of one rule list in their order.
type Reader struct {
	Rules
	// Merged is true for files that augenrules merges. It moves a line -D before all others.
	Merged     bool
	noSyscalls bool // a rule "never" for all tasks came first
	noUnset    bool // a rule "never" for processes without a login came first
}

// With returns the rules together with the ones of another list, of which the settings count less.
func (r *Reader) With(other Reader) Rules {
	for _, rule := range other.Floods {
		r.flood(rule)
	}
	if r.Panics == nil {
		r.Panics = other.Panics
	}
	if r.Locked == nil {
		r.Locked = other.Locked
	}
	if r.Backlog == 0 {
		r.Backlog, r.BacklogAt = other.Backlog, other.BacklogAt
	}
	return r.Rules
}

// Add reads the text of a file.
func (r *Reader) Add(file, text string) {
	number := 0
	for each := range strings.SplitSeq(text, "\n") {
		number++
		words := split(each)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		text := strings.ToValidUTF8(strings.TrimSpace(each), "?")
		r.line(Rule{At: fmt.Sprintf("%s:%d", file, number), Text: text[:min(len(text), maxText)]}, words)
	}
}

// split splits a line at white space, and removes quotes.
func split(line string) []string {
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = strings.Trim(w, `"'`)
	}
	return words
}

func (r *Reader) line(at Rule, words []string) {
	value := ""
	if len(words) > 1 {
		value = words[1]
	}
	switch {
	case is(words[0], "-f", &value):
		r.Panics = nil
		if value == "2" {
			r.Panics = &at
		}
	case is(words[0], "-e", &value):
		if r.Locked = nil; value == "2" {
			r.Locked = &at
		}
	case is(words[0], "-b", &value):
		if n, err := strconv.Atoi(value); err == nil && n >= 0 {
			r.Backlog, r.BacklogAt = n, at.At
		}
	case words[0] == "-D" && r.Merged:
	case words[0] == "-D":
		r.Floods, r.noSyscalls, r.noUnset = nil, false, false
	case words[0] == "-w":
		if wide(value) {
			r.flood(at)
		}
	case words[0] == "-a" || words[0] == "-A":
		r.rule(at, parse(words))
	}
}

// is reports whether a word is an option, also if its value follows without a space.
func is(word, option string, value *string) bool {
	if word == option {
		return true
	}
	rest, has := strings.CutPrefix(word, option)
	if _, err := strconv.Atoi(rest); !has || err != nil {
		return false
	}
	*value = rest
	return true
}

func (r *Reader) flood(at Rule) {
	if len(r.Floods) < maxFloods && !slices.ContainsFunc(r.Floods, func(o Rule) bool { return o.Text == at.Text }) {
		r.Floods = append(r.Floods, at)
	}
}

// parsed is a rule of the lists exit, task and others.
type parsed struct {
	list     []string // "always,exit", in either order
	calls    []string
	fields   []string // "auid>=1000"
	compares bool     // -C
}

func parse(words []string) parsed {
	var p parsed
	for i := 0; i+1 < len(words); i++ {
		value := words[i+1]
		switch words[i] {
		case "-a", "-A":
			p.list = strings.Split(value, ",")
		case "-S":
			p.calls = append(p.calls, strings.Split(value, ",")...)
		case "-F":
			p.fields = append(p.fields, value)
		case "-C":
			p.compares = true
		default:
			continue
		}
		i++
	}
	return p
}

func (r *Reader) rule(at Rule, p parsed) {
	never := slices.Contains(p.list, "never")
	switch {
	case slices.Contains(p.list, "task"):
		r.noSyscalls = r.noSyscalls || never && len(p.fields) == 0 && !p.compares
		return
	case !slices.Contains(p.list, "exit") && !slices.Contains(p.list, "filesystem"):
		return
	case never:
		r.noUnset = r.noUnset || len(p.calls) == 0 && onlyUnset(p)
		return
	case r.noSyscalls || r.noUnset || p.narrow():
		return
	}
	at.Unset = slices.ContainsFunc(p.fields, func(f string) bool { return strings.HasPrefix(f, "auid>") })
	r.flood(at)
}

func onlyUnset(p parsed) bool {
	of := slices.DeleteFunc(slices.Clone(p.fields), func(f string) bool { return strings.HasPrefix(f, "arch=") })
	return len(of) == 1 && !p.compares && field.MatchString(of[0]) && login(field.FindStringSubmatch(of[0])) == unset
}

var field = regexp.MustCompile(`^(\w+)(!=|>=|<=|&=|=|>|<|&)(.*)$`)

const unset = "= unset"

// login describes a condition on the login: "= unset", "!= unset", or "" for others.
func login(m []string) string {
	if m == nil || m[1] != "auid" && m[1] != "loginuid" {
		return ""
	}
	switch m[3] {
	case "unset", "-1", "4294967295":
		return map[string]string{"=": unset, "!=": "!= unset", "<": "!= unset"}[m[2]]
	}
	return map[string]string{"=": "!= unset", "<": "!= unset", "<=": "!= unset"}[m[2]]
}

// narrow reports whether a rule records only few events of containers: it leaves out processes
// without a login, names a program or a small directory, or records only seldom system calls.
func (p parsed) narrow() bool {
	if p.compares {
		return true
	}
	for _, f := range p.fields {
		m := field.FindStringSubmatch(f)
		if m == nil {
			continue
		}
		switch name, value := m[1], m[3]; {
		case login(m) == "!= unset", name == "exe" && m[2] == "=", name == "path" && !wide(value), name == "dir" && !wide(value):
			return true
		case (name == "uid" || name == "euid" || name == "gid" || name == "egid") && m[2] == "=" && value != "0" && value != "root":
			return true
		case name == "success" && value == "0", name == "exit" && strings.HasPrefix(value, "-"), name == "msgtype", name == "key" && len(p.calls) == 0 && len(p.fields) == 1:
			return true
		}
	}
	return len(p.calls) > 0 && !slices.ContainsFunc(p.calls, func(call string) bool { return !slices.Contains(seldom(), call) })
}

// seldom are system calls that containers hardly make. Hardening guides record them without a
// further condition.
func seldom() []string {
	return strings.Fields("adjtimex settimeofday clock_settime clock_adjtime stime sethostname setdomainname init_module finit_module delete_module create_module " +
		"kexec_load kexec_file_load reboot swapon swapoff acct iopl ioperm quotactl personality lookup_dcookie query_module " +
		"nfsservctl uselib sysfs vhangup pivot_root perf_event_open bpf ptrace process_vm_writev process_vm_readv open_by_handle_at umount " +
		"mq_open mq_unlink semctl msgctl add_key keyctl request_key 164 159 227")
}

// wide reports whether a watched path contains the directories of containers.
func wide(watched string) bool {
	watched = path.Clean("/" + watched)
	for _, dir := range []string{"/var/lib/containerd", "/var/lib/containers", "/var/lib/kubelet", "/var/lib/etcd", "/run/containerd", "/var/log/pods"} {
		if watched == "/" || watched == dir || strings.HasPrefix(dir, watched+"/") || strings.HasPrefix(watched, dir+"/") {
			return true
		}
	}
	return false
}
