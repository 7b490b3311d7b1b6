package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// FilesStep returns a step that writes world-readable files to a directory of airgap.
// Undo removes the directory.
func FilesStep(name, title, dir string, files map[string][]byte) step.Step {
	return step.Step{
		Name: name, Title: title,
		Done: func(context.Context) (bool, error) { return AllMatch(dir, files) },
		Plan: func(context.Context) ([]string, error) { return host.PlanFiles(InDir(dir, files), 0o644) },
		Run:  func(context.Context) error { return WriteAll(dir, files) },
		Undo: func(context.Context) error { return host.RemoveTree(dir) },
	}
}

// AllMatch reports whether each file exists with this content and is world-readable.
func AllMatch(dir string, files map[string][]byte) (bool, error) {
	for name, data := range files {
		if ok, err := host.FileMatches(filepath.Join(dir, name), data, 0o644); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// InDir maps the full path of each file to its content.
func InDir(dir string, files map[string][]byte) map[string][]byte {
	paths := map[string][]byte{}
	for name, data := range files {
		paths[filepath.Join(dir, name)] = data
	}
	return paths
}

// WriteAll writes the files with mode 0644.
func WriteAll(dir string, files map[string][]byte) error {
	for name, data := range files {
		if err := host.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Exists reports whether the path exists and can be reached.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// CheckLater returns a usage error if the file of a flag cannot be written. A command calls it before
// long work, so that the user does not wait in vain. "" means that no file is written.
func CheckLater(flag, file string) error {
	if file == "" {
		return nil
	}
	dir, err := os.Stat(filepath.Dir(file))
	if err == nil && !dir.IsDir() {
		err = fmt.Errorf("%s is not a directory", filepath.Dir(file))
	}
	if there, statErr := os.Stat(file); statErr == nil && there.IsDir() {
		err = errors.New("it is a directory, want a file")
	}
	if err != nil {
		return advice.Usagef("%s %s: %v", flag, file, err)
	}
	return nil
}
