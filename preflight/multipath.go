package preflight

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
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

var multipath = Check{
	ID: "multipath", Title: "multipathd leaves local disks alone", Source: "multipath.conf manual; longhorn#1210",
	Breaks: "multipathd takes a disk before it is mounted: its file system is missing after a boot, or a volume of a pod is busy.",
	Needs:  []string{"multipath", "units", "bootMounts"}, Run: judgeMultipath,
}

// judgeMultipath fails if the next boot mounts a disk by a name that multipathd has taken.
func judgeMultipath(f *Facts, w *Want) Result {
	unit := f.unit("multipathd.service")
	if !unit.Active() && unit.Enabled != "enabled" {
		return pass("not active")
	}
	fix := "add the disk to a blacklist section of /etc/multipath.conf (wwid, from multipath -ll), run multipath -w WWID and dracut -f; and mount it by UUID="
	for _, p := range w.dataPaths() {
		next, ok := f.BootMounts.at(f.target(p))
		disk := strings.TrimPrefix(next.Spec, "/dev/")
		taken := slices.ContainsFunc(f.Multipath.Single, func(single string) bool { return onDisk(disk, single) })
		if ok && taken {
			return Result{Fail, fmt.Sprintf("%s mounts %s for %s, and multipathd has taken that disk", next.At(), next.Spec, p), "a disk that multipathd leaves alone", fix}
		}
	}
	switch value := f.Multipath.FindMultipaths; {
	case len(f.Multipath.Single) > 0:
		return Result{Warn, "multipathd has taken disks with one path: " + strings.Join(f.Multipath.Single, ", "), "only disks with several paths", fix}
	case slices.Contains([]string{"no", "off", "greedy"}, value):
		return Result{Warn, fmt.Sprintf("%s sets find_multipaths %s: multipathd takes every new disk", f.Multipath.At, value), "find_multipaths on, or a blacklist", "set find_multipaths on in the section defaults, and run systemctl reload multipathd"}
	}
	return pass("active; it takes only disks with several paths")
}
