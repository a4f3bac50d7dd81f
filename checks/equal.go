package checks

import (
	"reflect"
	"time"
)

// Equal reports whether two checks have the same settings and the same state. An empty list equals a nil one, and times
// are compared as instants. Package go-cmp calls this method, so cmp.Diff works on checks.
func (c Check) Equal(d Check) bool { return equal(reflect.ValueOf(c), reflect.ValueOf(d)) }

// equal compares two values of one type by their exported fields.
func equal(a, b reflect.Value) bool {
	if at, ok := a.Interface().(time.Time); ok {
		return at.Equal(b.Interface().(time.Time))
	}
	switch a.Kind() {
	case reflect.Struct:
		for field, value := range a.Fields() {
			if field.IsExported() && !equal(value, b.FieldByIndex(field.Index)) {
				return false
			}
		}
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
	default:
		return a.Equal(b)
	}
	return true
}
