package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ReadJSON reads a record that WriteJSON wrote. It is the zero value when there
// is no such file; errors name the file.
func ReadJSON[T any](path string) (T, error) {
	var value T
	data, err := os.ReadFile(path)
	if err != nil {
		return value, IgnoreMissing(err)
	}
	if err := json.Unmarshal(data, &value); err != nil {
		return value, fmt.Errorf("read %s: %w", path, err)
	}
	return value, nil
}

// WriteJSON writes a record as indented JSON, as WriteFile does, for root alone.
func WriteJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, append(data, '\n'), 0o600)
}

// IgnoreMissing is nil for the error of a file that is not there.
func IgnoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
