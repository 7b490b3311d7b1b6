package facts

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Multipath is the configuration of multipathd, and the disks that it has taken.
type Multipath struct {
	// FindMultipaths is the value of find_multipaths, and At the file and line; "" for the default.
	FindMultipaths string `yaml:"findMultipaths,omitempty" json:"findMultipaths,omitempty"`
	At             string `yaml:"at,omitempty" json:"at,omitempty"`
	// Single are disks with one path that multipathd has taken: "sdb".
	Single []string `yaml:"single,flow,omitempty" json:"single,omitempty"`
}

const multipathConf = "etc/multipath.conf"

var findMultipaths = regexp.MustCompile(`^\s*find_multipaths\s+"?([\w-]+)"?`)

// readMultipath reads multipath.conf(5) and the maps with the UUID of a multipath device.
func readMultipath(_ context.Context, r reader, f *Facts) error {
	files := []string{multipathConf}
	names, err := r.names("etc/multipath/conf.d")
	if err != nil {
		return err
	}
	for _, name := range names {
		if path.Ext(name) == ".conf" {
			files = append(files, "etc/multipath/conf.d/"+name)
		}
	}
	for _, file := range files {
		text, err := r.optionalRaw(file)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(text, "\n") {
			if m := findMultipaths.FindStringSubmatch(line); m != nil {
				f.Multipath.FindMultipaths, f.Multipath.At = m[1], fmt.Sprintf("/%s:%d", file, i+1)
			}
		}
	}
	return readSinglePaths(r, f)
}

func readSinglePaths(r reader, f *Facts) error {
	disks, err := r.names("sys/block")
	if err != nil {
		return err
	}
	for _, disk := range disks {
		if !strings.HasPrefix(disk, "dm-") {
			continue
		}
		id, err := r.optional("sys/block/" + disk + "/dm/uuid")
		if err != nil {
			return err
		}
		if !strings.HasPrefix(id, "mpath-") {
			continue
		}
		paths, err := r.names("sys/block/" + disk + "/slaves")
		if err != nil {
			return err
		}
		if len(paths) == 1 {
			f.Multipath.Single = append(f.Multipath.Single, paths[0])
		}
	}
	return nil
}
