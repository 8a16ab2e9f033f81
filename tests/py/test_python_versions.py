"""What the oldest and the newest supported Python ask of the extension, whichever runs the tests: the C sources use nothing of CPython that
3.10 lacks, except where the preprocessor asks for a newer version, and make no types that 3.14 refuses."""

from __future__ import annotations

import re

from lanewise import _core
from source_tree import files, read, without_comments

# names of CPython's headers that 3.13 has and 3.10 has not
NEWER = """
    PyAsyncGenASend_CheckExact PyCell_GetRef PyCell_SetTakeRef PyCell_SwapTakeRef PyCode_AddWatcher PyCode_Addr2Location PyCode_ClearWatcher PyCode_GetCellvars
    PyCode_GetCode PyCode_GetFirstFree PyCode_GetFreevars PyCode_GetVarnames PyCode_WatchCallback PyContext_MAXFREELIST PyCriticalSection2_Begin PyCriticalSection2_End
    PyCriticalSection_Begin PyCriticalSection_End PyDict_AddWatcher PyDict_ClearWatcher PyDict_ContainsString PyDict_GetItemRef PyDict_GetItemStringRef PyDict_Pop
    PyDict_PopString PyDict_SetDefaultRef PyDict_Unwatch PyDict_Watch PyDict_WatchCallback PyDict_WatchEvent PyErr_DisplayException PyErr_FormatUnraisable
    PyErr_GetHandledException PyErr_GetRaisedException PyErr_SetHandledException PyErr_SetRaisedException PyEval_GetFrameBuiltins PyEval_GetFrameGlobals
    PyEval_GetFrameLocals PyEval_SetProfileAllThreads PyEval_SetTraceAllThreads PyEvent_Wait PyEvent_WaitTimed PyExc_BaseExceptionGroup PyExc_ExceptionGroup
    PyExc_IncompleteInputError PyExc_InterpreterError PyExc_InterpreterNotFoundError PyExc_NotShareableError PyExc_PythonFinalizationError PyException_GetArgs
    PyException_SetArgs PyFloat_MAXFREELIST PyFloat_Pack2 PyFloat_Pack4 PyFloat_Pack8 PyFloat_Unpack2 PyFloat_Unpack4 PyFloat_Unpack8 PyFrameLocalsProxy_Check
    PyFrameLocalsProxy_Type PyFrame_GetBuiltins PyFrame_GetGenerator PyFrame_GetGlobals PyFrame_GetLasti PyFrame_GetLocals PyFrame_GetVar PyFrame_GetVarString
    PyFunction_AddWatcher PyFunction_ClearWatcher PyFunction_SetVectorcall PyFunction_WatchCallback PyFunction_WatchEvent PyGen_GetCode PyHamtNode_Bitmap
    PyImport_AddModuleRef PyInstructionSequence_Fini PyInterpreterConfig_DEFAULT_GIL PyInterpreterConfig_OWN_GIL PyInterpreterConfig_SHARED_GIL PyList_Clear PyList_Extend
    PyList_GetItemRef PyLong_AsInt PyLong_AsNativeBytes PyLong_FromNativeBytes PyLong_FromUnsignedNativeBytes PyMapping_GetOptionalItem PyMapping_GetOptionalItemString
    PyMapping_HasKeyStringWithError PyMapping_HasKeyWithError PyModule_Add PyMonitoring_EnterScope PyMonitoring_ExitScope PyMonitoring_FireBranchEvent
    PyMonitoring_FireCRaiseEvent PyMonitoring_FireCReturnEvent PyMonitoring_FireCallEvent PyMonitoring_FireExceptionHandledEvent PyMonitoring_FireJumpEvent
    PyMonitoring_FireLineEvent PyMonitoring_FirePyResumeEvent PyMonitoring_FirePyReturnEvent PyMonitoring_FirePyStartEvent PyMonitoring_FirePyThrowEvent
    PyMonitoring_FirePyUnwindEvent PyMonitoring_FirePyYieldEvent PyMonitoring_FireRaiseEvent PyMonitoring_FireReraiseEvent PyMonitoring_FireStopIterationEvent
    PyMutex_IsLocked PyMutex_Lock PyMutex_LockFast PyMutex_LockFlags PyMutex_Unlock PyObject_ClearManagedDict PyObject_GenericHash PyObject_GetItemData
    PyObject_GetOptionalAttr PyObject_GetOptionalAttrString PyObject_GetTypeData PyObject_HasAttrStringWithError PyObject_HasAttrWithError PyObject_VisitManagedDict
    PyRefTracer_CREATE PyRefTracer_DESTROY PyRefTracer_GetTracer PyRefTracer_SetTracer PyRun_InteractiveOneObjectEx PyStackRef_CLEAR PyStackRef_DECREF PyStackRef_Get
    PyStackRef_INCREF PyStackRef_NewRef PyStackRef_NewRefDeferred PyStackRef_SETREF PyStackRef_StealObject PyStackRef_StealRef PyStackRef_XDECREF PyStackRef_XNewRef
    PyStackRef_XNewRefDeferred PyStackRef_XSETREF PySys_AuditTuple PyThreadState_EnterTracing PyThreadState_GetUnchecked PyThreadState_LeaveTracing
    PyThread_ParseTimeoutArg PyThread_UNSET_TIMEOUT PyTime_AsSecondsDouble PyTime_MAX PyTime_MIN PyTime_Monotonic PyTime_MonotonicRaw PyTime_PerfCounter
    PyTime_PerfCounterRaw PyTime_Time PyTime_TimeRaw PyTuple_NFREELISTS PyType_AddWatcher PyType_ClearWatcher PyType_FromMetaclass PyType_GetDict
    PyType_GetFullyQualifiedName PyType_GetModuleByDef PyType_GetModuleName PyType_GetName PyType_GetQualName PyType_GetTypeDataSize PyType_Lookup PyType_Unwatch
    PyType_Watch PyType_WatchCallback PyUnicode_EqualToUTF8 PyUnicode_EqualToUTF8AndSize PyWeakref_GetRef
""".split()


def uses(text):
    """(name, line) of each of NEWER that all versions would compile, outside of conditions on the version or on free threading."""
    asks, found = [], []
    for number, line in enumerate(text.splitlines(), 1):
        directive = re.match(r"\s*#\s*(if\w*|elif|else|endif)\b(.*)", line)
        if directive:
            word, condition = directive.groups()
            if word.startswith("if"):
                asks.append(bool(re.search("PY_VERSION_HEX|Py_GIL_DISABLED", condition)))
            elif word == "endif":
                asks.pop()
        elif not any(asks):
            found += [(name, number) for name in re.findall(r"\bPy\w+", line) if name in NEWER]
    return found


def test_names_are_found_outside_of_conditions_alone():
    guarded = "#if PY_VERSION_HEX >= 0x030B0000\nPyCode_GetVarnames(x);\n#endif\n"
    assert uses(guarded) == []
    assert uses(guarded + "PyCode_GetVarnames(x);\n") == [("PyCode_GetVarnames", 4)]


def test_sources_compile_and_load_with_the_oldest_python():
    found = [(path, *use) for path in files() if path.endswith((".c", ".h")) for use in uses(without_comments(read(path)))]
    assert found == []


def test_immutable_types_have_immutable_bases():
    """Python 3.14 makes no other immutable types; 3.12 and 3.13 warn."""
    immutable = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
    made = [made for made in vars(_core).values() if isinstance(made, type) and made.__flags__ & immutable]
    assert len(made) > 5
    assert [(made, base) for made in made for base in made.__mro__ if not base.__flags__ & immutable] == []
