package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/remote"
)

// SiteSSH is the file of --ssh-config: SSH settings that replace those of airgap.yaml.
type SiteSSH struct {
	SSH   *remote.Config `yaml:"ssh" json:"ssh,omitempty" jsonschema:"description=Fields of the section ssh that replace those of airgap.yaml"`
	Nodes []SiteNode     `yaml:"nodes" json:"nodes,omitempty" jsonschema:"description=Nodes of airgap.yaml with SSH settings that replace those of airgap.yaml"`

	doc document
}

// SiteNode is the settings of a node, or of a range of nodes.
type SiteNode struct {
	Name string           `yaml:"name" json:"name" jsonschema:"required,example=node2" jsonschema_description:"Name of a node in airgap.yaml, or a range such as node[001-100]."`
	SSH  *remote.Override `yaml:"ssh" json:"ssh" jsonschema:"required,description=SSH settings of the node"`
}

// maxSiteSSH, in bytes, is more than a file for 5,000 hosts has.
const maxSiteSSH = 4 << 20

// ReadSiteSSH reads and judges the file. It can name programs that root runs, so other users must not be able to change it.
func ReadSiteSSH(file string) (*SiteSSH, error) {
	s, err := readSiteSSH(file)
	if problems, is := errors.AsType[Problems](err); is {
		return nil, adviseSiteSSH(problems)
	}
	if err != nil {
		return nil, advice.Usage(fmt.Errorf("read the file of --ssh-config: %w", err))
	}
	return s, nil
}

func adviseSiteSSH(problems Problems) error {
	return advice.Add(advice.Usage(fmt.Errorf("read the file of --ssh-config:\n%w", problems.sorted())),
		"correct these lines and run the same command again; nothing was started. The smallest file: ssh: {user: ops}")
}

func readSiteSSH(file string) (*SiteSSH, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%s: mode is %#o, so others can change it: want 0600 or 0644", file, mode.Perm())
	}
	if info.Size() > maxSiteSSH {
		return nil, fmt.Errorf("%s: larger than %d bytes", file, maxSiteSSH)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseSiteSSH(file, text)
}

func parseSiteSSH(file string, text []byte) (*SiteSSH, error) {
	doc, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	schema, err := schemaOf(&SiteSSH{})
	if err != nil {
		return nil, err
	}
	problems := append(doc.credentials(), doc.duplicates()...)
	shape, err := doc.judge(schema)
	if err != nil {
		return nil, err
	}
	for i, p := range shape {
		if keys := split(p.Path); p.unknown && (len(keys) == 1 || keys[0] == "nodes" && len(keys) == 3) {
			shape[i].Message = "unknown field: the file has ssh, and nodes with name and ssh"
		}
	}
	problems = append(problems, shape...)
	s := &SiteSSH{doc: doc}
	if err := doc.root.Decode(s); err != nil && len(problems) == 0 {
		return nil, syntax(file, err)
	}
	problems = append(problems, doc.semantic(s.validate(), problems)...)
	if len(problems) > 0 {
		return nil, problems.sorted()
	}
	return s, nil
}

func (s *SiteSSH) validate() (all field.ErrorList) {
	if s.SSH != nil {
		all = s.SSH.Validate(field.NewPath("ssh"))
	}
	for i, n := range s.Nodes {
		if n.SSH != nil {
			all = append(all, n.SSH.Validate(field.NewPath("nodes").Index(i).Child("ssh"))...)
		}
	}
	return all
}

// Apply returns a copy of the configuration with these settings, and the fields that they replace as a text. known are all
// nodes of airgap.yaml.
func (s *SiteSSH) Apply(c *Cluster, known []Node) (*Cluster, string, error) {
	nodes, problems := s.expand(known)
	if len(problems) > 0 {
		return nil, "", adviseSiteSSH(problems)
	}
	changed := *c
	section := remote.Config{}
	if c.SSH != nil {
		section = c.SSH.Written()
	}
	var replaced []string
	if s.SSH != nil {
		for _, name := range section.Over(*s.SSH) {
			replaced = append(replaced, "ssh."+name)
		}
	}
	section.Default()
	changed.SSH, changed.Nodes = &section, slices.Clone(c.Nodes)
	for i, n := range changed.Nodes {
		if o := nodes[n.Name]; o != nil {
			changed.Nodes[i].SSH = o.Over(n.SSH)
			replaced = append(replaced, "nodes["+n.Name+"].ssh")
		}
	}
	return &changed, fmt.Sprintf("%s replaces in airgap.yaml: %s", s.doc.file, strings.Join(replaced, ", ")), nil
}

// expand returns the settings of each node. A later item adds to an earlier one, as for a range and one node of it.
func (s *SiteSSH) expand(known []Node) (map[string]*remote.Override, Problems) {
	names, all := map[string]bool{}, map[string]*remote.Override{}
	var list []string
	for _, n := range known {
		names[n.Name] = true
		list = append(list, n.Name)
	}
	var problems Problems
	for i, item := range s.Nodes {
		at := field.NewPath("nodes").Index(i)
		wrong := func(child, format string, args ...any) {
			path := at.Child(child).String()
			problems = append(problems, s.doc.problem(s.doc.at(split(path), false), path, format, args...))
		}
		some, err := hostrange.Expand(item.Name)
		if err != nil {
			wrong("name", "%q: %v", item.Name, err)
			continue
		}
		addresses := slices.Repeat([]string{""}, len(some))
		if item.SSH.Address != "" {
			if addresses, err = hostrange.Expand(item.SSH.Address); err != nil || len(addresses) != len(some) && len(addresses) != 1 {
				wrong("ssh.address", "%q: want one address, or a range with the length of %s", item.SSH.Address, item.Name)
				continue
			}
			if len(addresses) == 1 {
				addresses = slices.Repeat(addresses, len(some))
			}
		}
		if item.SSH.HostKey != "" && len(some) > 1 {
			wrong("ssh.hostKey", "%s stands for several servers, and each has its own key: write an item for each", item.Name)
			continue
		}
		for k, name := range some {
			if !names[name] {
				wrong("name", "%q: airgap.yaml has no node of that name%s", name, advice.DidYouMean(name, list))
				break
			}
			one := *item.SSH
			one.Address = addresses[k]
			all[name] = one.Over(all[name])
		}
	}
	return all, problems
}
