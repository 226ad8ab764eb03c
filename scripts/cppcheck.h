/* cppcheck.h - what cppcheck must know of jansson, whose header it does not
 * read. */
#define json_array_foreach(array, i, value) \
	for (i = 0; (value = json_array_get(array, i)); i++)
#define json_object_foreach(object, key, value) \
	for (; next_member(object, &key, &value);)
