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

// space is what a file system offers.
type space struct {
	free    int64 // bytes that we may use
	maxFile int64 // bytes of one file; 0 means no limit worth mentioning
}

// fat32Max is the largest file of FAT32 in bytes.
const fat32Max = 1<<32 - 1

// slack is what the index and the file system's own bookkeeping take, bytes.
const slack = 16 << 20

// freeSpace is what is free where dir is, or is to be made.
func freeSpace(dir string) (space, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	if up := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && up != dir {
		return freeSpace(up)
	}
	if err != nil {
		return space{}, fmt.Errorf("ask for free space in %s: %w", dir, err)
	}
	found := space{free: int64(s.Bavail) * s.Bsize}
	if s.Type == unix.MSDOS_SUPER_MAGIC {
		found.maxFile = fat32Max
	}
	return found, nil
}

// checkSpace wants room for what is not there yet.
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
		return fmt.Errorf("its file system takes files of at most %s, the parts have %s: choose a smaller part size", ui.Size(has.maxFile), ui.Size(largest))
	}
	if need > has.free {
		return fmt.Errorf("no space: needs %s more, %s are free", ui.Size(need), ui.Size(has.free))
	}
	return nil
}

// allocated is what a file already takes on the disk, in bytes.
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
