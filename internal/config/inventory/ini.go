package inventory

import (
	"regexp"
	"strings"

	"airgap.dev/airgap/internal/hostrange"
)

var (
	section = regexp.MustCompile(`^\[([^\]:\s]+)(?::(\w+))?\]\s*([#;].*)?$`)
	port    = regexp.MustCompile(`^(.*):(\d{1,5})$`)
	pattern = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]+$`)
)

// ini reads an inventory in the INI form of Ansible.
func (r *reader) ini(text string) *tree {
	t := newTree(r)
	group, kind := "ungrouped", ""
	skip := false
	for i, raw := range strings.Split(text, "\n") {
		number, line := i+1, strings.TrimSpace(raw)
		if r.stopped {
			break
		}
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			m := section.FindStringSubmatch(line)
			skip = m == nil || !shape.MatchString(m[1]) || m[2] != "" && m[2] != "vars" && m[2] != "children"
			if skip {
				r.fault(number, "", "not a section: want [GROUP], [GROUP:vars] or [GROUP:children]")
				continue
			}
			group, kind = m[1], m[2]
			t.group(group, number)
		case skip: // its section is the problem
		case kind == "children":
			r.iniChild(t, group, number, line)
		case kind == "vars":
			r.iniVariable(t, group, number, line)
		default:
			r.iniHost(t, group, number, line)
		}
	}
	return t
}

func (r *reader) iniChild(t *tree, group string, number int, line string) {
	parts, err := words(line)
	if err != nil || len(parts) != 1 || !shape.MatchString(parts[0]) {
		r.fault(number, "", "want the name of one group in a line of [%s:children]", group)
		return
	}
	t.child(group, parts[0], number)
}

func (r *reader) iniVariable(t *tree, group string, number int, line string) {
	name, value, is := strings.Cut(line, "=")
	if !is {
		r.fault(number, "", "want NAME=VALUE in a line of [%s:vars]", group)
		return
	}
	name, value = strings.TrimSpace(name), unquote(strings.TrimSpace(value))
	if field := r.variable("variable", number, name, value, ansibleVariables()); field != "" {
		t.groupVariable(group, field, variable{name, value, number})
	}
}

// iniHost reads a line with a host, or a range of hosts, and its variables.
func (r *reader) iniHost(t *tree, group string, number int, line string) {
	parts, err := words(line)
	if err != nil {
		r.fault(number, "", "%v", err)
		return
	}
	if len(parts) == 0 {
		return
	}
	name := parts[0]
	var sshPort string
	if m := port.FindStringSubmatch(name); m != nil && !strings.HasSuffix(m[1], "[") && strings.Count(m[1], "[") == strings.Count(m[1], "]") {
		name, sshPort = m[1], m[2]
	}
	if !pattern.MatchString(name) {
		r.fault(number, "", "the line begins with no host: want NAME, or a range such as node[01:50]. A variable belongs behind its host, or to a section [GROUP:vars]")
		return
	}
	variables := map[string]variable{}
	if sshPort != "" {
		variables[fieldPort] = variable{"port", sshPort, number}
	}
	for _, word := range parts[1:] {
		key, value, is := strings.Cut(word, "=")
		if !is {
			r.fault(number, name, "want NAME=VALUE behind the host, without spaces around = and in quotes if VALUE has spaces")
			return
		}
		if field := r.variable("variable", number, key, value, ansibleVariables()); field != "" {
			variables[field] = variable{key, value, number}
		}
		if secretName.MatchString(key) {
			return // the rest of the line can be a part of the secret
		}
	}
	names, err := hostrange.ExpandAnsible(name)
	if err != nil {
		r.fault(number, "", "%v", err)
		return
	}
	for _, one := range names {
		if !t.host(group, one, number) {
			return
		}
		for field, v := range variables {
			t.hostVariable(one, field, v)
		}
	}
}

// unquote removes quotes around a whole value.
func unquote(value string) string {
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}
