package nextboot

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Block is a line of modprobe's configuration that keeps a module from being loaded.
type Block struct {
	Module string `yaml:"module" json:"module"`
	By     string `yaml:"by" json:"by"` // "install", "blacklist" or "alias"
	Place  `yaml:",inline"`
}

// ByBlacklist is the value of Block.By for a line that modprobe NAME ignores. It applies to
// systemd-modules-load, and when the kernel asks for the module by an alias.
const ByBlacklist = "blacklist"

// ReadBlocks reads the lines about the modules, in all directories of modprobe.d. An install line
// blocks a module if its command loads nothing.
func ReadBlocks(fsys fs.FS, modules []string) ([]Block, error) {
	files, err := configured(fsys, "etc/modprobe.d", "run/modprobe.d", "usr/local/lib/modprobe.d", "usr/lib/modprobe.d")
	if err != nil {
		return nil, err
	}
	var blocks []Block
	for _, file := range files {
		s, err := read(fsys, file)
		if err != nil {
			return nil, err
		}
		for _, b := range parseBlocks(s) {
			if slices.Contains(modules, b.Module) && len(blocks) < mostFound {
				blocks = append(blocks, b)
			}
		}
	}
	return blocks, nil
}

// parseBlocks joins lines that end with a backslash, as modprobe does.
func parseBlocks(s source) []Block {
	var blocks []Block
	joined, first := "", 0
	for i, line := range s.lines {
		if joined == "" {
			first = i
		}
		if part, more := strings.CutSuffix(line, `\`); more {
			joined += part + " "
			continue
		}
		words := strings.Fields(joined + line)
		joined = ""
		if len(words) < 2 {
			continue
		}
		if by := blocking(words); by != "" {
			blocks = append(blocks, Block{ModuleName(words[1]), by, s.at(first)})
		}
	}
	return blocks
}

func blocking(words []string) string {
	command := strings.Join(words[2:], " ")
	switch {
	case words[0] == ByBlacklist:
		return ByBlacklist
	case words[0] == "install" && command != "" && !loads(command):
		return "install"
	case words[0] == "alias" && command == "off":
		return "alias"
	}
	return ""
}

// loads reports whether a shell command starts modprobe or insmod. A comment, and the text that another
// program such as logger prints, start nothing.
func loads(command string) bool {
	if before, _, is := strings.Cut(" "+command, " #"); is {
		command = before
	}
	for part := range strings.SplitSeq(strings.NewReplacer("&&", ";", "||", ";", "|", ";", "{", ";", "(", ";", "`", ";").Replace(command), ";") {
		for word := range strings.FieldsSeq(part) {
			switch path.Base(strings.Trim(word, `"'`)) {
			case "modprobe", "insmod":
				return true
			case "echo", "logger", "printf", "true", "false", ":", "exit", "test", "[":
			default: // a program that starts another one: sh -c, env, nice
				continue
			}
			break
		}
	}
	return false
}

// ModuleName is the kernel's form of the name, with "_". File names may have "-".
func ModuleName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// Refuses is the parameter of a command line that disables a module, of the named ones or nomodule;
// "" without one.
func Refuses(cmdline, name string, parameters ...string) string {
	if p := Last(cmdline, "nomodule"); p.Name != "" {
		return p.Text
	}
	for _, parameter := range parameters {
		for _, listed := range List(cmdline, parameter) {
			if ModuleName(listed) == name {
				return parameter + "=" + listed
			}
		}
	}
	return ""
}
