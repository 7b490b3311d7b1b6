package scenario

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// WithDisks returns the command with the check disk-space.
func WithDisks(command []string) []string {
	command = slices.Clone(command)
	command[slices.Index(command, LabSkips)] = ClockSkip
	return command
}

// freeShare is the share of the outer machine's disk that a scenario with the check disk-space needs at its start, in percent.
// verify wants 15 % on each server, and a run of nine servers writes up to 10 GB.
const freeShare = 20

// RoomForDisks fails if the servers, which share the outer machine's disk, would not pass the check disk-space.
func (e *Env) RoomForDisks() error {
	var s unix.Statfs_t
	if err := unix.Statfs(e.Cache, &s); err != nil {
		return fmt.Errorf("read the free space of %s: %w", e.Cache, err)
	}
	if share := s.Bavail * 100 / s.Blocks; share < freeShare {
		return fmt.Errorf("%d %% of the disk of %s is free: this scenario runs the check disk-space and needs %d %%: free space, or set AIRGAP_LAB_CACHE to a directory on another disk", share, e.Cache, freeShare)
	}
	return nil
}
