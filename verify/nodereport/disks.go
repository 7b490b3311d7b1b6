package nodereport

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Directory is a directory that a component of the cluster writes to.
type Directory struct {
	Path string // if it does not exist yet, its nearest parent decides the file system
	Use  string // the component that writes there
}

// Disks returns the file systems of the places, each once, in the order of the places.
func Disks(places []Directory) ([]Disk, error) {
	var disks []Disk
	at := map[uint64]int{} // by number of the device
	for _, p := range places {
		path := nearest(p.Path)
		var file unix.Stat_t
		if err := unix.Stat(path, &file); err != nil {
			return nil, fmt.Errorf("find the file system of %s: %w", path, err)
		}
		i, known := at[file.Dev]
		if !known {
			disk, err := diskAt(path)
			if err != nil {
				return nil, err
			}
			i = len(disks)
			at[file.Dev], disks = i, append(disks, disk)
		}
		disks[i].Uses = append(disks[i].Uses, p.Use)
	}
	return disks, nil
}

func diskAt(path string) (Disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Disk{}, fmt.Errorf("read the free space in %s: %w", path, err)
	}
	return Disk{
		Path: path, Size: int64(s.Blocks) * s.Frsize, Free: int64(s.Bavail) * s.Frsize,
		Inodes: int64(s.Files), InodesFree: int64(s.Ffree),
	}, nil
}

// nearest returns the path or its nearest parent that exists.
func nearest(path string) string {
	for path != "/" {
		if _, err := os.Stat(path); err == nil {
			break
		}
		path = filepath.Dir(path)
	}
	return path
}
