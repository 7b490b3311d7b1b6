package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/advice"
)

const nameKeyDir = "set --keys to a directory that only you can read, and keep it: the keys of the first bundle sign all later ones"

// checkNamed refuses a directory without a name: the keys would be written into the working directory.
func checkNamed(dir string) error {
	if dir != "" {
		return nil
	}
	why := "HOME is not set"
	switch config, home := os.Getenv("XDG_CONFIG_HOME"), os.Getenv("HOME"); {
	case config != "":
		why = fmt.Sprintf("XDG_CONFIG_HOME is %q, which is not an absolute path", config)
	case home != "":
		why = fmt.Sprintf("HOME is %q, which is not an absolute path", home)
	}
	return advice.Usage(advice.Add(errors.New("find the directory of the signing keys: "+why), nameKeyDir))
}

// CanMake refuses a directory in which Make cannot create the missing keys, before a plan takes time.
func (k *Keys) CanMake(dir string) error {
	if k.Bundle != nil && k.RPM != nil {
		return nil
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("create the signing keys in %s: %w", dir, err)
	}
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "mkdir", Path: at, Err: unix.ENOTDIR}
		} else if err == nil {
			err = unix.Access(at, unix.W_OK|unix.X_OK)
		} else if errors.Is(err, fs.ErrNotExist) && at != "/" {
			at = filepath.Dir(at)
			continue
		}
		if err != nil {
			return advice.Usage(advice.Add(fmt.Errorf("create the signing keys in %s: %s: %w", dir, at, err), nameKeyDir))
		}
		return nil
	}
}
