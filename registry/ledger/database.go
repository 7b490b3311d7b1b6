package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

const (
	// File is the name of the database.
	File = "ledger.db"
	// damagedSuffix is added to the name of a file that cannot be read.
	damagedSuffix = ".damaged"
	// lockTimeout is how long Open waits for another process that has the database open.
	lockTimeout = 2 * time.Second
)

// errDamaged reports that the database cannot be used.
var errDamaged = errors.New("the ledger is damaged")

// openDatabase opens the database in dir, or creates it. It reads all pages in use: bbolt finds damage
// only when it reads a page, and then panics.
func openDatabase(dir *host.Owned) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a page beyond the end of a truncated file is a fault
	var file *os.File
	defer func() {
		if problem := recover(); problem != nil {
			db, err = nil, errors.Join(fmt.Errorf("%w: %v", errDamaged, problem), file.Close())
		}
	}()
	db, err = bbolt.Open(File, 0o640, &bbolt.Options{
		Timeout: lockTimeout,
		OpenFile: func(name string, flag int, mode fs.FileMode) (*os.File, error) {
			file, err = openRegular(dir, name, flag, mode)
			return file, err
		},
	})
	if err != nil {
		return nil, explain(err)
	}
	if err := errors.Join(createBuckets(db), db.View(checked)); err != nil {
		return nil, errors.Join(explain(err), db.Close())
	}
	if err := syncNames(dir); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// syncNames writes the names of a directory's files to the disk.
func syncNames(dir *host.Owned) error {
	d, err := dir.OpenFile(".", os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func openRegular(dir *host.Owned, name string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := dir.OpenFile(name, flag|unix.O_NONBLOCK, mode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: f.Name(), Err: errors.New("it is no regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// explain tells damage from errors of the operating system, after which the file stays as it is.
func explain(err error) error {
	if _, system := errors.AsType[syscall.Errno](err); system {
		return err
	}
	if _, system := errors.AsType[*fs.PathError](err); system {
		return err
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		return advice.Add(errors.New("another process uses "+File),
			"stop the other registry on this host, or give this one another directory with --pushed")
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

func createBuckets(db *bbolt.DB) error {
	err := db.View(func(t *bbolt.Tx) error {
		_, err := tableOf(t)
		return err
	})
	if err == nil {
		return nil
	}
	return db.Update(func(t *bbolt.Tx) error {
		var problems error
		for _, name := range buckets() {
			_, err := t.CreateBucketIfNotExists([]byte(name))
			problems = errors.Join(problems, err)
		}
		return problems
	})
}

// setAside keeps a damaged file under another name, for an examination.
func setAside(dir *host.Owned, name string) error {
	return dir.Rename(name, name+damagedSuffix)
}
