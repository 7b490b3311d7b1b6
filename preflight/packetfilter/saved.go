package packetfilter

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Saved are the rules that a service loads.
type Saved struct {
	Unit  string   `yaml:"unit" json:"unit"` // "iptables.service"
	Files []string `yaml:"files,omitempty" json:"files,omitempty"`
	Rules Rules    `yaml:"rules" json:"rules"`
	// SaveOnStop are the settings that make the service save the rules in the kernel, with their
	// places. They then have the rules of the cluster.
	SaveOnStop []string `yaml:"saveOnStop,omitempty" json:"saveOnStop,omitempty"`
}

// Includes is the directory of files that nftables.conf includes.
const Includes = "etc/nftables"

// Files are the files with saved rules. An Enterprise Linux host has the first four.
func Files() []string {
	return []string{"etc/sysconfig/iptables", "etc/sysconfig/ip6tables", "etc/sysconfig/iptables-config", "etc/sysconfig/ip6tables-config", "etc/sysconfig/nftables.conf", "etc/nftables.conf"}
}

// ReadSaved reads the rules that services load. The file's text is "" if it does not exist.
func ReadSaved(text func(file string) (string, error), names func(dir string) ([]string, error)) ([]Saved, error) {
	var all []Saved
	for _, family := range []string{"ip", "ip6"} {
		name := family + "tables"
		saved := Saved{Unit: name + ".service"}
		set := New()
		content, err := text("etc/sysconfig/" + name)
		if err != nil {
			return nil, err
		}
		if content != "" {
			saved.Files = []string{"/etc/sysconfig/" + name}
			set.Iptables(saved.Files[0], family, content)
		}
		config, err := text("etc/sysconfig/" + name + "-config")
		if err != nil {
			return nil, err
		}
		saved.SaveOnStop = saveOnStop("/etc/sysconfig/"+name+"-config", config)
		if saved.Rules = set.Rules(); len(saved.Files)+len(saved.SaveOnStop) > 0 {
			all = append(all, saved)
		}
	}
	nft, err := readNFT(text, names)
	return append(all, nft...), err
}

var saves = regexp.MustCompile(`^\s*(IP6?TABLES_SAVE_ON_(?:STOP|RESTART))=["']?yes\b`)

func saveOnStop(file, text string) (found []string) {
	for i, line := range strings.Split(text, "\n") {
		if m := saves.FindStringSubmatch(line); m != nil {
			found = append(found, fmt.Sprintf("%s=yes in %s:%d", m[1], file, i+1))
		}
	}
	return found
}

// readNFT reads the file of nftables.service and the files that it includes.
func readNFT(text func(file string) (string, error), names func(dir string) ([]string, error)) ([]Saved, error) {
	var all []Saved
	saved, set := Saved{Unit: "nftables.service"}, New()
	next := []string{"etc/sysconfig/nftables.conf", "etc/nftables.conf"}
	for depth := 0; len(next) > 0 && depth < 8; depth++ {
		var patterns []string
		for _, file := range next {
			content, err := text(file)
			if err != nil {
				return nil, err
			}
			if content != "" && !slices.Contains(saved.Files, "/"+file) && len(saved.Files) < 100 {
				saved.Files = append(saved.Files, "/"+file)
				patterns = append(patterns, set.NFT("/"+file, content)...)
			}
		}
		found, err := names(Includes)
		if err != nil {
			return nil, err
		}
		next = nil
		for _, name := range found {
			file := Includes + "/" + name
			if slices.ContainsFunc(patterns, func(p string) bool { return includes(p, file) }) {
				next = append(next, file)
			}
		}
		for _, p := range patterns {
			if elsewhere(p) && !slices.ContainsFunc(next, func(file string) bool { return includes(p, file) }) {
				set.unread("include " + strconv.Quote("/"+p))
			}
		}
	}
	if saved.Rules = set.Rules(); len(saved.Files) > 0 {
		all = append(all, saved)
	}
	return all, nil
}

// includes reports whether a pattern of an include names a file. nft looks for relative names in /etc.
func includes(pattern, file string) bool {
	for _, from := range []string{pattern, "etc/" + pattern, Includes + "/" + pattern} {
		if is, err := path.Match(from, file); err == nil && is {
			return true
		}
	}
	return false
}

// elsewhere reports whether a pattern can name files outside of Includes, or names one that does not exist. A
// glob without a file loads nothing.
func elsewhere(pattern string) bool {
	return !slices.Contains([]string{Includes, path.Base(Includes)}, path.Dir(pattern)) || !strings.ContainsAny(pattern, "*?[")
}

var (
	fewPackets = regexp.MustCompile(`(?i)icmp|\blo\b|"lo"`)
	newState   = regexp.MustCompile(`(?i)\bnew\b`)
	oldState   = regexp.MustCompile(`(?i)\b(established|related)\b`)
	numbers    = regexp.MustCompile(`(?:dport|--dports?) (\{[^}]*\}|\S+)`)
	portRange  = regexp.MustCompile(`(\d+)(?:[-:](\d+))?`)
)

// CanAccept reports whether a rule can accept new connections of the cluster. Only rules that
// certainly do not are left out: packets of connections that exist, of other protocols, of the
// loopback interface, and of ports that the cluster does not use.
func CanAccept(hook, rule string, used []int) bool {
	ports := numbers.FindStringSubmatch(rule)
	switch {
	case fewPackets.MatchString(rule), oldState.MatchString(rule) && !newState.MatchString(rule):
		return false
	case ports == nil || !strings.ContainsAny(ports[1], "0123456789"):
		return true
	case hook == "forward":
		return false // pods use any port
	}
	for _, m := range portRange.FindAllStringSubmatch(ports[1], -1) {
		first, _ := strconv.Atoi(m[1])
		last, _ := strconv.Atoi(m[2])
		if slices.ContainsFunc(used, func(p int) bool { return p >= first && p <= max(first, last) }) {
			return true
		}
	}
	return false
}
