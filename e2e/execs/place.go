package execs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// places maps the IDs of cgroups to their names.
type places struct {
	mount int // where cgroup v2 is mounted
	level int // of the watched cgroup below the mount point
	known map[uint64]string
}

// placesAround finds the mount point above a cgroup.
func placesAround(cgroup string) (*places, error) {
	root, err := mountOf(cgroup)
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(root, cgroup)
	if err != nil {
		return nil, err
	}
	mount, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return &places{mount, len(strings.Split(below, "/")), map[uint64]string{}}, err
}

func (p *places) close() error { return unix.Close(p.mount) }

// name returns the last part of the path of a cgroup, or "" if the cgroup was removed
// before the first call for it.
func (p *places) name(id uint64) string {
	name, known := p.known[id]
	if !known {
		name = p.find(id)
		p.known[id] = name
	}
	return name
}

// find opens the directory of a cgroup by its ID.
func (p *places) find(id uint64) string {
	const byID = 0xfe // FILEID_KERNFS
	handle := unix.NewFileHandle(byID, binary.NativeEndian.AppendUint64(nil, id))
	fd, err := unix.OpenByHandleAt(p.mount, handle, unix.O_RDONLY|unix.O_CLOEXEC)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return ""
	}
	return filepath.Base(path)
}

// mountOf returns the root of the file system with dir.
func mountOf(dir string) (string, error) {
	var here, above unix.Stat_t
	for {
		parent := filepath.Dir(dir)
		if err := errors.Join(unix.Stat(dir, &here), unix.Stat(parent, &above)); err != nil {
			return "", err
		}
		if here.Dev != above.Dev || parent == dir {
			return dir, nil
		}
		dir = parent
	}
}
