package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/ui"
)

// space has the limits of a file system.
type space struct {
	free    int64 // bytes available to this user
	maxFile int64 // largest file in bytes; 0 means no relevant limit
}

// fat32Max is the largest file of FAT32 in bytes.
const fat32Max = 1<<32 - 1

// slack is the space for the index and the file system's metadata, in bytes.
const slack = 16 << 20

// freeSpace is the free space of the file system of dir; dir may not exist yet.
func freeSpace(dir string) (space, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	if up := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && up != dir {
		return freeSpace(up)
	}
	if err != nil {
		return space{}, fmt.Errorf("read free space in %s: %w", dir, err)
	}
	found := space{free: int64(s.Bavail) * s.Bsize}
	if s.Type == unix.MSDOS_SUPER_MAGIC {
		found.maxFile = fat32Max
	}
	return found, nil
}

// checkSpace requires space for the missing bytes.
func checkSpace(dir string, draft *Index, stick []StickFile, free func(string) (space, error)) error {
	need := int64(slack)
	for _, f := range stick {
		need += f.size
	}
	largest := int64(0)
	for _, p := range draft.Parts {
		largest = max(largest, p.Size)
		path := filepath.Join(dir, p.Name)
		need += max(0, p.Size-allocated(path)-allocated(path+copySuffix))
	}
	has, err := free(dir)
	if err != nil {
		return err
	}
	if has.maxFile > 0 && largest > has.maxFile {
		return fmt.Errorf("the file system supports files of at most %s, but the parts have %s: choose a smaller part size", ui.Size(has.maxFile), ui.Size(largest))
	}
	if need > has.free {
		return fmt.Errorf("no space: needs %s more, %s available", ui.Size(need), ui.Size(has.free))
	}
	return nil
}

// allocated is the space that a file already uses on the disk, in bytes.
func allocated(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
